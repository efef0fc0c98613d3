#!/usr/bin/env bash
# Uses holdfast as another project does. check.sh CASE SOURCE BUILD WORK COMPILER, where BUILD is a
# finished build, WORK a folder to make anew, and CASE one of the functions below.
set -euo pipefail

case=$1 source=$2 build=$3 work=$4 compiler=$5
here=$source/tests/install
rm -rf "$work"
mkdir -p "$work"
export CXX=$compiler
unset DESTDIR PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH

# What is tested is how the library is found and linked: it need not be quick.
in_a_hurry=(-DCMAKE_CXX_FLAGS=-O0 -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=24
  -DHOLDFAST_PRECOMPILE=ON)
# clang takes less time than gcc, whose warnings about one engine alone are for the full run.
compiled=(-DHOLDFAST_WERROR=ON)
if [[ -z ${HOLDFAST_TEST_FULL:-} ]] && clang=$(command -v clang++-16); then
  compiled=(-DHOLDFAST_WERROR=OFF -DCMAKE_CXX_COMPILER="$clang")
fi

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# configure_and_build SOURCE BUILD [-D...]
configure_and_build() {
  local from=$1 to=$2
  shift 2
  cmake -S "$from" -B "$to" -G Ninja "$@"
  cmake --build "$to"
}

# use_find_package PREFIX: leaves $work/user/program and program_without_exceptions.
use_find_package() {
  configure_and_build "$here/find_package" "$work/user" -DCMAKE_PREFIX_PATH="$1"
}

# use_pkg_config PREFIX [--static]: leaves $work/program.
use_pkg_config() {
  local prefix=$1
  shift
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name holdfast.pc)")
  export PKG_CONFIG_PATH
  local flags
  read -ra flags <<<"$(pkg-config "$@" --cflags --libs holdfast)"
  "$compiler" -std=c++20 -Wall -Wextra -Werror "$here/program.cpp" -o "$work/program" \
    "${flags[@]}" "-Wl,-rpath,$(dirname "$PKG_CONFIG_PATH")"
}

runs() {
  "$1" "$2" || fail "$1 $2 ended with $?"
}

lacks_engine() {
  local code=0
  "$1" "$2" || code=$?
  ((code == 3)) || fail "$1 $2 ended with $code; unsupported (3) was expected"
}

find_package() {
  cmake --install "$build" --prefix "$work/first"
  # An installed tree may be moved.
  mv "$work/first" "$work/stage"
  python3 "$here/links.py" "$work/stage" || fail "links of the installed files lead nowhere"
  use_find_package "$work/stage"
  runs "$work/user/program" "local:$work/store"
  runs "$work/user/program_without_exceptions" "local:$work/store"
  runs "$work/user/program_without_exceptions" memory:x
  "$work/stage/bin/holdfast" version
  # The installed examples are a project of their own. One is enough: the build has compiled each.
  local one=(--target example_acquire)
  [[ -z ${HOLDFAST_TEST_FULL:-} ]] || one=()
  local examples
  examples=$(dirname "$(find "$work/stage" -name late_writer.cpp)")
  cmake -S "$examples" -B "$work/examples" -G Ninja -DCMAKE_PREFIX_PATH="$work/stage"
  cmake --build "$work/examples" "${one[@]}"
  "$work/examples/example_acquire" memory:x
  # What this project gives to its own targets for clang, its users have to get from the example.
  local clang
  if clang=$(command -v clang++-16); then
    cmake -S "$examples" -B "$work/clang" -G Ninja -DCMAKE_PREFIX_PATH="$work/stage" \
      -DCMAKE_CXX_COMPILER="$clang"
    cmake --build "$work/clang" --target example_coroutine
    "$work/clang/example_coroutine" memory:x
  fi
}

pkg_config() {
  cmake --install "$build" --prefix "$work/stage"
  use_pkg_config "$work/stage" --static
  runs "$work/program" "local:$work/store"
  use_pkg_config "$work/stage"
  runs "$work/program" memory:x
}

# What the objects need must be in the file for pkg-config, whichever engine is built alone.
pkg_config_of_each_engine() {
  local engine needed flags library
  for engine in local memory redis redlock etcd zookeeper; do
    cmake -S "$source" -B "$work/$engine" -G Ninja -DHOLDFAST_ENGINES="$engine" \
      -DHOLDFAST_BUILD_TESTS=OFF -DHOLDFAST_BUILD_CLI=OFF -DHOLDFAST_BUILD_EXAMPLES=OFF
    flags=" $(PKG_CONFIG_PATH=$work/$engine pkg-config --libs holdfast) "
    needed=$(sed -n 's/^HOLDFAST_PRIVATE_LIBRARIES:INTERNAL=//p' "$work/$engine/CMakeCache.txt")
    for library in ${needed//;/ }; do
      [[ $flags == *" -l$library "* ]] || fail "$engine: -l$library is not in $flags"
    done
  done
}

# Distributions give the folders as absolute paths, one or both.
pkg_config_of_absolute_directories() {
  local flags
  # expect_flags NAME INCLUDE LIB CMAKE_INCLUDEDIR CMAKE_LIBDIR
  expect_flags() {
    cmake -S "$source" -B "$work/$1" -G Ninja -DHOLDFAST_ENGINES=memory \
      -DHOLDFAST_BUILD_TESTS=OFF -DHOLDFAST_BUILD_CLI=OFF -DHOLDFAST_BUILD_EXAMPLES=OFF \
      -DCMAKE_INSTALL_PREFIX=/a/prefix -DCMAKE_INSTALL_INCLUDEDIR="$4" -DCMAKE_INSTALL_LIBDIR="$5"
    mkdir -p "$work/$1.installed/lib/pkgconfig"
    cp "$work/$1/holdfast.pc" "$work/$1.installed/lib/pkgconfig"
    flags=$(PKG_CONFIG_PATH=$work/$1.installed/lib/pkgconfig pkg-config --cflags --libs holdfast)
    flags=" $flags "
    flags=${flags//lib\/pkgconfig\/..\/..\//}
    [[ $flags == *" -I$2 "* && $flags == *" -L$3 "* ]] || fail "$1: not -I$2 -L$3 but $flags"
  }
  expect_flags neither "$work/neither.installed/include" "$work/neither.installed/lib" include lib
  expect_flags include /an/include "$work/include.installed/lib" /an/include lib
  expect_flags lib /a/prefix/include /a/lib include /a/lib
  expect_flags both /an/include /a/lib /an/include /a/lib
}

# Of the program only how it would be installed: to build it takes minutes.
shared_program_knows_its_library() {
  cmake -S "$source" -B "$work/holdfast" -G Ninja -DBUILD_SHARED_LIBS=ON -DHOLDFAST_ENGINES=memory \
    -DHOLDFAST_BUILD_TESTS=OFF -DHOLDFAST_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_LIBDIR=lib/here
  grep -q "RPATH .*ORIGIN/../lib/here\"" "$work/holdfast/cli/cmake_install.cmake" ||
    fail "the installed program would not find its library"
}

add_subdirectory() {
  configure_and_build "$here/add_subdirectory" "$work/user" -DHOLDFAST_SOURCE="$source" \
    -DHOLDFAST_ENGINES=memory -DHOLDFAST_WERROR=ON "${in_a_hurry[@]}"
  runs "$work/user/program" memory:x
  lacks_engine "$work/user/program" "local:$work/store"
  lacks_engine "$work/user/program" etcd://host
}

shared_with_local_only() {
  # In a project that contains it, so that it has to be compiled only once for both.
  configure_and_build "$here/add_subdirectory" "$work/container" -DHOLDFAST_SOURCE="$source" \
    -DHOLDFAST_INSTALL=ON -DBUILD_SHARED_LIBS=ON -DHOLDFAST_ENGINES=local "${compiled[@]}" \
    "${in_a_hurry[@]}"
  runs "$work/container/program" "local:$work/store"
  lacks_engine "$work/container/program" etcd://host
  cmake --install "$work/container" --prefix "$work/stage"
  use_find_package "$work/stage"
  runs "$work/user/program" "local:$work/store"
  lacks_engine "$work/user/program" memory:x
  runs "$work/user/program_without_exceptions" "local:$work/store"
  use_pkg_config "$work/stage"
  runs "$work/program" "local:$work/store"

  local library shown foreign
  library=$(find "$work/stage" -name 'libholdfast.so.*.*.*' -type f)
  shown=$(nm --dynamic --defined-only --demangle "$library" | sed 's/^[0-9a-f]* *. //')
  grep -q '^holdfast::open(' <<<"$shown" || fail "holdfast::open is not shown by $library"
  foreign=$(grep -Ev '^((typeinfo( name)?|vtable) for )?holdfast::|^HOLDFAST_' <<<"$shown" || true)
  [[ -z $foreign ]] || fail "$library shows symbols of others:"$'\n'"$foreign"
  foreign=$(grep -E '^(.* for )?holdfast::(core|io|client|engines|wire)::' <<<"$shown" || true)
  [[ -z $foreign ]] || fail "$library shows its inside:"$'\n'"$foreign"
  readelf --dynamic "$library" | grep -q 'FLAGS_1.*NODELETE' ||
    fail "dlclose would unmap $library under its threads"
  # TLS is for Redis nodes.
  foreign=$(readelf --dynamic "$library" | grep -E 'NEEDED.*lib(ssl|crypto)' || true)
  [[ -z $foreign ]] || fail "$library needs what only redlock uses:"$'\n'"$foreign"
}

"$case"
