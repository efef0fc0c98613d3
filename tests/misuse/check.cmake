# Compiles CASE twice: without MISUSE it must compile, with it the compiler must refuse it with a
# message that matches the file's first line ("// expect: REGEX"), and not for another reason.
# PARSED is what parse.cmake wrote.
include(${CMAKE_CURRENT_LIST_DIR}/compile.cmake)
file(STRINGS ${CASE} first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${CASE}: the first line must be '// expect: REGEX'")
endif()
set(expected "${CMAKE_MATCH_1}")
list(APPEND compile -fsyntax-only -include ${PARSED})

execute_process(COMMAND ${compile} ${CASE} RESULT_VARIABLE code ERROR_VARIABLE said)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "The control of ${CASE} does not compile:\n${said}")
endif()
execute_process(COMMAND ${compile} -DMISUSE ${CASE} RESULT_VARIABLE code ERROR_VARIABLE said)
if(code EQUAL 0)
  message(FATAL_ERROR "The misuse in ${CASE} compiles")
endif()
if(NOT said MATCHES "${expected}")
  message(FATAL_ERROR "${CASE} was refused, but not for '${expected}':\n${said}")
endif()
