# C++20, strict warnings as an unexported interface target, bit-identical floating point.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(LOCKSTEP_WARNINGS_AS_ERRORS "Treat compiler warnings as errors (the presets do)" OFF)
set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
option(LOCKSTEP_COVERAGE "Instrument for gcov" OFF)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_library(lockstep_build_options INTERFACE)
target_compile_options(lockstep_build_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wswitch-enum -Wold-style-cast
  -ffp-contract=off  # results are bit-identical across machines: no fused multiply-add, no fast-math
  # GCC 12 warns by mistake of "text" + std::string (GCC bug 105651) and of aggregates of strings as arguments.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<BOOL:${LOCKSTEP_WARNINGS_AS_ERRORS}>:-Werror>)
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()
if(LOCKSTEP_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
endif()

# lockstep_library(NAME SOURCES ... [PUBLIC targets] [PRIVATE targets]): one library per code folder.
function(lockstep_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/lockstep>)
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:lockstep_build_options>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LIBRARIES ${name})
endfunction()

# lockstep_test(NAME SOURCES ... LIBRARIES ... [LABELS ...]): one GoogleTest program, one ctest entry per test
# (SimGrid's engine is a process-wide singleton, so every test runs in its own process).
function(lockstep_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;LABELS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} lockstep_source_dir GTest::gtest GTest::gmock GTest::gtest_main lockstep_build_options)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}")
endfunction()
