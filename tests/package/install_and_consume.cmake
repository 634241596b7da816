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

file(REMOVE_RECURSE ${WORK}/prefix ${WORK}/consumer)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CONSUMER} -B ${WORK}/consumer
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
  -DCMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer)
if(NOT output STREQUAL "90.0 GB/s\n0.5 s\nabsent.yaml: no such file\n")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()
