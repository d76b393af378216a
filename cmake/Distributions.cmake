# Distributions, a library of its own: only programs that use them load it (docs/records/0009-cpp-distributions.md). Its formulas are rows
# of ops/distributions/*.toml (docs/records/0013-formulas-of-distributions-as-rows.md).
file(GLOB formula_rows CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ops/distributions/*.toml)
set(formula_flags --rows ${CMAKE_SOURCE_DIR}/ops/distributions)
set(formula_out ${CMAKE_BINARY_DIR}/generated/cresset/distributions)
execute_process(COMMAND ${opgen} formula_units ${formula_flags} OUTPUT_VARIABLE units OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "ops/distributions/*.toml cannot be read; the line above says where")
endif()
set(formula_sources ${units})
list(TRANSFORM formula_sources PREPEND ${formula_out}/)
add_custom_command(
  OUTPUT ${formula_sources} ${formula_out}/rows.h ${formula_out}/entries_distributions.h
  COMMAND ${opgen} formulas ${formula_flags} --out ${formula_out}
  DEPENDS ${formula_rows} ${CRESSET_OPGEN}
  COMMENT "opgen: ops/distributions/*.toml"
  VERBATIM)

file(GLOB distribution_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/distributions/*.cpp)
list(APPEND distribution_sources ${formula_sources})
cresset_unite(distribution_sources)
add_library(cresset_distributions SHARED ${distribution_sources})
set_target_properties(cresset_distributions PROPERTIES EXPORT_NAME distributions)
cresset_declare_units(cresset_distributions)
cresset_precompile(cresset_distributions ${CMAKE_SOURCE_DIR}/cresset/core/tensor_impl.h ${CMAKE_SOURCE_DIR}/cresset/base/scalar.h)
target_link_libraries(cresset_distributions PUBLIC cresset PRIVATE cresset_flags)
# Their time goes into the ops that they call.
target_compile_options(cresset_distributions PRIVATE $<$<CONFIG:Release>:-Os -ffunction-sections>)
target_link_options(cresset_distributions PRIVATE -Wl,-Bsymbolic-functions -Wl,--gc-sections)  # most rows are called by name only
if(CRESSET_PACKED_RELOCATIONS)
  target_link_options(cresset_distributions PRIVATE -Wl,-z,pack-relative-relocs)
endif()
