# holdfast_lua(engine script...), with the parts of each script in the variable parts_of_<script>.
# Writes `engines/<engine>/script_texts.hpp` into the build directory: the text of each script of
# `scripts/`, behind the parts that it begins with, and its SHA1. The parts are Lua functions, which
# only reach a server together with the script: Redis has no way to share them. A part is looked for
# in the engine's own folder, then among those of all engines.
function(holdfast_lua engine)
  set(script_texts "")
  foreach(script IN LISTS ARGN)
    set(text "")
    foreach(part IN LISTS parts_of_${script} script)
      set(file ${CMAKE_CURRENT_SOURCE_DIR}/scripts/${part}.lua)
      if(NOT EXISTS ${file})
        set(file ${PROJECT_SOURCE_DIR}/src/engines/lua/${part}.lua)
      endif()
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
      file(READ ${file} content)
      string(APPEND text "${content}")
    endforeach()
    string(SHA1 sha1 "${text}")
    string(APPEND script_texts
      "inline constexpr std::string_view ${script}_sha1{\"${sha1}\"};\n"
      "inline constexpr std::string_view ${script}_text{R\"lua(${text})lua\"};\n\n")
  endforeach()

  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(CONFIGURE OUTPUT ${generated}/engines/${engine}/script_texts.hpp CONTENT
"#pragma once

#include <string_view>

namespace holdfast::engines::@engine@ {

@script_texts@}  // namespace holdfast::engines::@engine@
" @ONLY)
  target_include_directories(holdfast_objects PRIVATE ${generated})
endfunction()
