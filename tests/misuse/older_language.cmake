# Every public header says first that C++17 is not enough, before the compiler's own complaints.
file(GLOB headers ${INCLUDE}/holdfast/*.hpp)
if(NOT headers)
  message(FATAL_ERROR "${INCLUDE}/holdfast has no headers")
endif()
foreach(header IN LISTS headers)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C
      ${COMPILER} -std=c++17 -Wfatal-errors -fsyntax-only -I${INCLUDE} -x c++ ${header}
    RESULT_VARIABLE code ERROR_VARIABLE said)
  string(REGEX MATCH "error:[^\n]*" first "${said}")
  if(code EQUAL 0 OR NOT first MATCHES "holdfast needs C\\+\\+20 \\(-std=c\\+\\+20\\)")
    message(FATAL_ERROR "${header} as C++17 does not say first what it needs:\n${said}")
  endif()
endforeach()
