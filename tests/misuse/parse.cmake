# Writes PARSED, which includes all headers of CASES, and its precompiled form beside it. Then it
# compiles the controls, each in a namespace of its own: the headers are there already.
include(${CMAKE_CURRENT_LIST_DIR}/compile.cmake)
file(WRITE ${PARSED} "#include <holdfast/error.hpp>\n#include <holdfast/fence.hpp>\n"
  "#include <holdfast/guarded.hpp>\n#include <holdfast/lock.hpp>\n"
  "#include <holdfast/session.hpp>\n#include <holdfast/token.hpp>\n\n#include <chrono>\n")
execute_process(COMMAND ${compile} -x c++-header ${PARSED} -o ${PARSED}.gch
  RESULT_VARIABLE code ERROR_VARIABLE said)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "The headers do not compile:\n${said}")
endif()

set(controls "")
foreach(case IN LISTS CASES)
  string(APPEND controls
    "namespace ${case} {\n#include \"${CMAKE_CURRENT_LIST_DIR}/${case}.cpp\"\n}\n")
endforeach()
file(WRITE ${PARSED}.controls.cpp "${controls}")
execute_process(COMMAND ${compile} -fsyntax-only -include ${PARSED} ${PARSED}.controls.cpp
  RESULT_VARIABLE code ERROR_VARIABLE said)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "A control does not compile:\n${said}")
endif()
