# The library as others find it: headers, CMake package, pkg-config file. The program, its man page
# and its completions are installed by cli/.
if(NOT HOLDFAST_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)

install(TARGETS holdfast_lib EXPORT holdfast_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
    NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.hpp")
install(EXPORT holdfast_targets NAMESPACE holdfast:: DESTINATION ${package_dir}
  COMPONENT development)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT development)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
# What the documentation links to besides; see tests/install/links.py.
install(DIRECTORY models DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development
  USE_SOURCE_PERMISSIONS PATTERN CMakeLists.txt EXCLUDE)
install(FILES tests/guards/contract.py DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/guards
  COMPONENT development)
install(FILES cli/man/holdfast.1 cli/man/holdfast.toml.5
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/cli/man COMPONENT development)
# To be copied into the stores that they are for: docs/guards.md.
install(FILES guards/etcd_fence.sh guards/http_fence.py guards/object_fence.py
  guards/postgresql.sql guards/redis.lua guards/sqlite.sql
  DESTINATION ${CMAKE_INSTALL_DATADIR}/holdfast/guards COMPONENT development)

configure_package_config_file(cmake/holdfast-config.cmake.in holdfast-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may change anything.
write_basic_package_version_file(holdfast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/holdfast-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/holdfast-config-version.cmake
  DESTINATION ${package_dir} COMPONENT development)

# The prefix is told relative to the file itself, so that an installed tree can be moved; but not
# from a folder that is not below it. A folder that was given as an absolute path is meant as it is.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH pc_prefix /${pkgconfig_dir} /)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
set(pc_includedir "\${prefix}")
cmake_path(APPEND pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
set(pc_libdir "\${prefix}")
cmake_path(APPEND pc_libdir ${CMAKE_INSTALL_LIBDIR})
set(pc_flags "")
set(pc_threads "")
set(pc_private .private)
if(NOT BUILD_SHARED_LIBS)
  # There is no shared form to link without them, so that --static is not needed either.
  set(pc_private "")
  set(pc_flags " -DHOLDFAST_STATIC")
  set(pc_threads " -pthread")
endif()
set(pc_requires "")
if("local" IN_LIST HOLDFAST_ENGINES)
  list(APPEND pc_requires lmdb)
endif()
if("redis" IN_LIST HOLDFAST_ENGINES OR "redlock" IN_LIST HOLDFAST_ENGINES
   OR "etcd" IN_LIST HOLDFAST_ENGINES)
  list(APPEND pc_requires openssl)
endif()
if("etcd" IN_LIST HOLDFAST_ENGINES)
  list(APPEND pc_requires libnghttp2)
endif()
list(JOIN pc_requires " " pc_requires)
if("zookeeper" IN_LIST HOLDFAST_ENGINES AND NOT BUILD_SHARED_LIBS)
  # It has no file of its own for pkg-config.
  string(APPEND pc_threads " -lzookeeper_st")
endif()
configure_file(cmake/holdfast.pc.in holdfast.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/holdfast.pc DESTINATION ${pkgconfig_dir}
  COMPONENT development)
