# Warnings, language level and hidden visibility, for every target of this project.
function(holdfast_configure target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion
    # -Wshadow=local: a local may hide a member or a function, but not another local. Clang has no
    # such form, and its -Wshadow finds functions of other files where files are compiled as one.
    $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
    $<$<AND:$<NOT:$<CXX_COMPILER_ID:GNU>>,$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>>:-Wshadow>
    # False alarms of gcc 12, inside Asio and for vectors that it inlines; ASan finds the true ones.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-free-nonheap-object>
    $<$<BOOL:${HOLDFAST_WERROR}>:-Werror>
    # Behind all others, which they end. See src/io/thread/thread_safety.hpp.
    $<$<BOOL:${HOLDFAST_CHECK_MUTEXES}>:-Wno-everything;-Wthread-safety;-Werror=thread-safety>)
  # Asio 1.22 looks for the coroutines that clang had before C++20.
  target_compile_definitions(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_CO_AWAIT>)
endfunction()

# The library that users link: all objects, static or shared.
function(holdfast_library target)
  holdfast_configure(${target})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:holdfast_objects>)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC Threads::Threads PRIVATE ${HOLDFAST_PRIVATE_LIBRARIES})
  if(BUILD_SHARED_LIBS)
    set(map ${PROJECT_SOURCE_DIR}/cmake/holdfast.map)
    # nodelete: dlclose(3) would unmap the code that the library's threads are running, and lose
    # what is made once for a process.
    target_link_options(${target} PRIVATE
      LINKER:--version-script=${map} LINKER:-z,defs LINKER:-z,nodelete)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
  else()
    target_compile_definitions(${target} PUBLIC HOLDFAST_STATIC)
  endif()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME holdfast EXPORT_NAME holdfast
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()

# holdfast_apart(target file...): where the files of a target are compiled in groups (UNITY_BUILD),
# these are not: each has a name for itself that another file has for something else.
function(holdfast_apart target)
  if(NOT TARGET ${target})
    return()
  endif()
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target}
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# holdfast_precompile(target header...): with HOLDFAST_PRECOMPILE these and the widely used headers
# of the standard library are parsed once for all files of the target.
function(holdfast_precompile target)
  if(HOLDFAST_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <chrono> <condition_variable> <deque> <functional> <map> <memory>
      <mutex> <optional> <set> <span> <stop_token> <string> <string_view> <thread> <unordered_map>
      <utility> <variant> <vector> ${ARGN})
    # False alarms of gcc 12 inside <string>, which it then forgets to be a header of the system.
    target_compile_options(${target} PRIVATE
      "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow>")
  endif()
endfunction()

# What every test is compiled with.
function(holdfast_compile_test target)
  holdfast_configure(${target})
  # A false alarm of gcc 12 where a result of a variant is inlined into a test.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # Optimised tests take twice as long to compile, and what they test is elsewhere.
  target_compile_options(${target} PRIVATE -O0)
  # Some of the libraries want it; to share headers that are precompiled, all must have it.
  target_compile_definitions(${target} PRIVATE _FILE_OFFSET_BITS=64)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE holdfast_inside GTest::gmock GTest::gtest_main)
endfunction()

# The target whose precompiled headers all tests share.
function(holdfast_test_headers)
  if(TARGET holdfast_test_headers)
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cxx CONTENT "")
  add_library(holdfast_test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cxx)
  holdfast_compile_test(holdfast_test_headers)
  holdfast_precompile(holdfast_test_headers
    <filesystem> <fstream> <gmock/gmock.h> <gtest/gtest.h> <sstream>)
endfunction()

# holdfast_test(name [SINGLE_THREADED] [SANITIZED] [FILTER f] SOURCES a.cpp ... [LIBRARIES ...]
#               [LABELS ...] [TIMEOUT s] [SHARDS n] [TOGETHER filter ...])
# A GoogleTest program that sees the library's inside, registered test by test with ctest.
# SANITIZED: the builds under sanitizers have it as well, as all unit tests. Without
# HOLDFAST_SANITIZED_TESTS it is built only where it is asked for by name; with
# HOLDFAST_TESTS_TOGETHER it is registered as the one program that it is, in n parts.
# TIMEOUT: of the reduced counts; the full ones have half an hour at least.
# SINGLE_THREADED: what it tests has no threads, so that TSan has nothing to say about it.
# FILTER: as --gtest_filter, which of its tests are registered.
# TOGETHER: with HOLDFAST_TESTS_TOGETHER the tests of each of these filters are one process, where
# they share a server that takes longer to start than they do.
function(holdfast_test name)
  cmake_parse_arguments(T "SINGLE_THREADED;SANITIZED" "TIMEOUT;FILTER;SHARDS"
    "SOURCES;LIBRARIES;LABELS;TOGETHER" ${ARGN})
  if(NOT HOLDFAST_BUILD_TESTS OR (T_SINGLE_THREADED AND HOLDFAST_THREADS_ONLY))
    return()
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  if(DEFINED ENV{HOLDFAST_TEST_FULL} AND T_TIMEOUT LESS 1800)
    set(T_TIMEOUT 1800)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBRARIES})
  holdfast_compile_test(${name})
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=address")
    target_link_libraries(${name} PRIVATE holdfast_fork_under_asan)
  endif()
  if(HOLDFAST_PRECOMPILE)
    holdfast_test_headers()
    target_precompile_headers(${name} REUSE_FROM holdfast_test_headers)
  endif()
  if(T_LABELS STREQUAL "unit")
    set(T_SANITIZED ON)
  endif()
  if(T_SANITIZED AND NOT HOLDFAST_SANITIZED_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(HOLDFAST_TESTS_TOGETHER AND T_SANITIZED AND NOT T_FILTER)
    holdfast_register_together(${name} "${T_SHARDS}" "${T_LABELS}")
    return()
  endif()
  if(HOLDFAST_TESTS_TOGETHER AND T_TOGETHER)
    foreach(filter IN LISTS T_TOGETHER)
      string(REGEX REPLACE "[^a-z_]" "" which "${filter}")
      holdfast_register_process(${name}.${which} ${name} "${T_LABELS}" --gtest_filter=${filter})
    endforeach()
    list(JOIN T_TOGETHER ":" together)
    set(T_FILTER "-${together}")
  endif()
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 300 TEST_FILTER "${T_FILTER}"
    PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}")
endfunction()

# holdfast_register_together(name shards labels): in so many processes.
function(holdfast_register_together name shards labels)
  if(NOT shards)
    set(shards 1)
  endif()
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    holdfast_register_process(${name}.${shard} ${name} "${labels}")
    set_tests_properties(${name}.${shard} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# holdfast_register_process(name program labels [argument...]): script/test-results finds what each
# single test ended with in the files of together/.
function(holdfast_register_process name program labels)
  add_test(NAME ${name} COMMAND ${program} ${ARGN}
    --gtest_output=xml:${PROJECT_BINARY_DIR}/together/${name}.xml)
  # COST: what takes long is to begin early.
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900 COST 500)
endfunction()
