# Installs the package into the build folder and builds and runs an outside project against it.
set(work ${build_dir}/consumer)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(flags "")
if(sanitizers)
  set(flags -fsanitize=${sanitizers})
endif()
run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${source_dir} -B ${work}/build -G ${generator}
    -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_CXX_COMPILER=${compiler}
    -D CMAKE_BUILD_TYPE=${build_type} -D CMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)

# y = sum(x tanh x), dy/dx = tanh x + x (1 - tanh² x)
if(NOT output MATCHES "^y = 5\\.6748\ndy/dx = .*1\\.18.*1\\.10.*1\\.02")
  message(FATAL_ERROR "unexpected output:\n${output}")
endif()
message(STATUS "${output}")
