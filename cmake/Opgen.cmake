# ops/*.toml -> ${CMAKE_BINARY_DIR}/generated/cresset/ops. Files that do not change keep their time, so little is built again.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
file(GLOB CRESSET_ROWS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ops/*.toml)
file(GLOB CRESSET_OPGEN CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/opgen/*.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CRESSET_ROWS})

set(opgen ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_SOURCE_DIR}/tools PYTHONDONTWRITEBYTECODE=1 ${Python3_EXECUTABLE} -m opgen)
set(opgen_flags --rows ${CMAKE_SOURCE_DIR}/ops)
set(opgen_out ${CMAKE_BINARY_DIR}/generated/cresset/ops)

# The names of the files, which the build must know beforehand; the rows are checked at the same time.
execute_process(COMMAND ${opgen} units ${opgen_flags} OUTPUT_VARIABLE units OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "ops/*.toml cannot be read; the line above says where")
endif()
set(CRESSET_GENERATED_SOURCES)
foreach(unit IN LISTS units)
  list(APPEND CRESSET_GENERATED_SOURCES ${opgen_out}/${unit})
endforeach()
set(CRESSET_GENERATED_HEADERS ${opgen_out}/functions.h ${opgen_out}/names.inc ${opgen_out}/method_names.inc ${opgen_out}/tensor_methods.inc
    ${opgen_out}/list_functions.h ${opgen_out}/list_names.inc ${opgen_out}/python_operators.inc ${opgen_out}/python_calls.inc ${opgen_out}/python_grad_names.inc ${opgen_out}/python_docs.inc)

add_custom_command(
  OUTPUT ${CRESSET_GENERATED_SOURCES} ${CRESSET_GENERATED_HEADERS} ${opgen_out}/schemas.json
  COMMAND ${opgen} generate ${opgen_flags} --out ${opgen_out}
  DEPENDS ${CRESSET_ROWS} ${CRESSET_OPGEN}
  COMMENT "opgen: ops/*.toml"
  VERBATIM)
add_custom_target(cresset_opgen DEPENDS ${CRESSET_GENERATED_SOURCES} ${CRESSET_GENERATED_HEADERS})
