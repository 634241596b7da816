# C++20, strict warnings as an unexported interface target, bit-identical floating point.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(LOCKSTEP_WARNINGS_AS_ERRORS "Treat compiler warnings as errors (the presets dev, fuzz and clang do)" OFF)
set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
option(LOCKSTEP_COVERAGE "Instrument for gcov" OFF)

# ccache must be told that it may trust precompiled headers.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
endif()

add_library(lockstep_build_options INTERFACE)
target_compile_options(lockstep_build_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wswitch-enum -Wold-style-cast
  -ffp-contract=off  # results are bit-identical across machines: no fused multiply-add, no fast-math
  # GCC 12 warns by mistake of "text" + std::string (GCC bugs 105651, 105329) and of aggregates of strings as arguments.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
  $<$<BOOL:${LOCKSTEP_WARNINGS_AS_ERRORS}>:-Werror>)
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()
if(LOCKSTEP_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
endif()

# Standard headers take a quarter of a compiler's time: they are compiled once. A file still includes what it uses;
# the preset `clang` compiles without this, and so finds what is missing.
function(lockstep_precompiled_headers name)
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  target_compile_options(${name} PUBLIC $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:lockstep_build_options>)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()
set(lockstep_standard_headers <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional>
                              <set> <span> <string> <string_view> <utility> <variant> <vector>)
lockstep_precompiled_headers(lockstep_precompiled ${lockstep_standard_headers})
set(lockstep_precompiled_here lockstep_precompiled)  # a folder may set its own

# lockstep_library(NAME SOURCES ... [PUBLIC targets] [PRIVATE targets]): one library per code folder.
function(lockstep_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/lockstep>)
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:lockstep_build_options>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_precompile_headers(${name} REUSE_FROM ${lockstep_precompiled_here})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LIBRARIES ${name})
endfunction()

# lockstep_test(NAME SOURCES ... LIBRARIES ... [LABELS ...]): one GoogleTest program, one ctest entry per test
# (SimGrid's engine is a process-wide singleton, so every test runs in its own process).
function(lockstep_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;LABELS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} lockstep_source_dir GTest::gtest GTest::gmock GTest::gtest_main lockstep_build_options)
  target_precompile_headers(${name} REUSE_FROM ${lockstep_precompiled_here})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}")
endfunction()
