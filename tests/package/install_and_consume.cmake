function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Instrumented libraries need their runtime in the program too.
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
elseif(COVERAGE)
  set(flags --coverage)
endif()

file(REMOVE_RECURSE ${WORK}/prefix ${WORK}/moved ${WORK}/consumer ${WORK}/documented)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CONSUMER} -B ${WORK}/consumer
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
  -DCMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer)
if(NOT output STREQUAL "90.0 GB/s\n0.5 s\nabsent.yaml: no such file\n")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()

# The consumer of docs/howto/install.md, copied from the page, and the program: both from a folder that was moved, so that
# nothing of this build or of the first folder is found by its path.
function(copy_from_page first file)
  run(awk "/^    ${first}/{p=1} p&&!/^    |^\$/{exit} p{print substr(\$0,5)}" ${PAGE})
  file(WRITE ${WORK}/documented/${file} "${output}")
endfunction()
copy_from_page(cmake_minimum_required CMakeLists.txt)
copy_from_page("#include" main.cpp)
set(installed ${WORK}/prefix/share/lockstep)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${WORK}/documented -B ${WORK}/documented/build
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
  -DCMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${WORK}/documented/build)
run(${WORK}/documented/build/consumer ${installed}/scenarios/llama2-13b-dp.yaml)
string(STRIP "${output}" from_library)

file(RENAME ${WORK}/prefix ${WORK}/moved)
set(installed ${WORK}/moved/share/lockstep)
file(RENAME ${installed}/topologies/catalog/chips/tpu-v5p.yaml ${installed}/topologies/catalog/chips/only-here.yaml)
run(${WORK}/moved/bin/lockstep collective all_reduce --cluster only-here:4x4x4 --group x --bytes 1MiB)
file(RENAME ${installed}/topologies/catalog/chips/only-here.yaml ${installed}/topologies/catalog/chips/tpu-v5p.yaml)
run(${WORK}/moved/bin/lockstep run ${installed}/scenarios/llama2-13b-dp.yaml --json -)
string(JSON step_time GET "${output}" step_time_s)
string(REGEX MATCH "^[0-9.]+" from_library "${from_library}")
if(from_library STREQUAL "" OR NOT step_time MATCHES "^0\\.[0-9]+")
  message(FATAL_ERROR "the library says ${from_library} s, the program ${step_time} s")
endif()
execute_process(COMMAND awk "BEGIN {d = ${step_time} - ${from_library}; exit !(d < 1e-6 && d > -1e-6)}" RESULT_VARIABLE apart)
if(apart)
  message(FATAL_ERROR "the library says ${from_library} s, the program ${step_time} s")
endif()
foreach(wanted share/man/man1/lockstep.1 share/bash-completion/completions/lockstep share/doc/lockstep/copyright
        share/doc/lockstep/third_party_in_report.txt share/lockstep/scenarios/configs)
  if(NOT EXISTS ${WORK}/moved/${wanted})
    message(FATAL_ERROR "${wanted} is not installed")
  endif()
endforeach()
