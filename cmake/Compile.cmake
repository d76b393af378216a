# Fused kernels of compiled graphs, a library of their own: only programs that compile load it (docs/records/0027-compile.md).
file(GLOB compile_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/graph/codegen/*.cpp)
add_library(cresset_compile SHARED ${compile_sources})
set_target_properties(cresset_compile PROPERTIES EXPORT_NAME compile)
target_link_libraries(cresset_compile PUBLIC cresset PRIVATE cresset_flags)
target_compile_options(cresset_compile PRIVATE $<$<CONFIG:Release>:-O2>)
target_link_options(cresset_compile PRIVATE -Wl,-Bsymbolic-functions)
