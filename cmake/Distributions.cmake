# Laws of probability, a library of its own: only programs that use them load it (docs/records/0009-cpp-distributions.md).
file(GLOB distribution_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/distributions/*.cpp)
add_library(cresset_distributions SHARED ${distribution_sources})
set_target_properties(cresset_distributions PROPERTIES EXPORT_NAME distributions)
cresset_declare_units(cresset_distributions)
cresset_precompile(cresset_distributions ${CMAKE_SOURCE_DIR}/cresset/core/tensor_impl.h ${CMAKE_SOURCE_DIR}/cresset/base/scalar.h)
target_link_libraries(cresset_distributions PUBLIC cresset PRIVATE cresset_flags)
# Their time goes into the ops that they call.
target_compile_options(cresset_distributions PRIVATE $<$<CONFIG:Release>:-Os>)
target_link_options(cresset_distributions PRIVATE -Wl,-Bsymbolic-functions)
if(CRESSET_PACKED_RELOCATIONS)
  target_link_options(cresset_distributions PRIVATE -Wl,-z,pack-relative-relocs)
endif()
