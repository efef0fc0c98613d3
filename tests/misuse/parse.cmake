# Writes PARSED, which includes the headers of all cases, and its precompiled form beside it.
include(${CMAKE_CURRENT_LIST_DIR}/compile.cmake)
file(WRITE ${PARSED} "#include <holdfast/guarded.hpp>\n#include <holdfast/lock.hpp>\n"
  "#include <holdfast/session.hpp>\n")
execute_process(COMMAND ${compile} -x c++-header ${PARSED} -o ${PARSED}.gch
  RESULT_VARIABLE code ERROR_VARIABLE said)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "The headers do not compile:\n${said}")
endif()
