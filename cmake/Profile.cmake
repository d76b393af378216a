# The profiler, a library of its own: programs that do not profile do not load it (docs/records/0025-profiler.md).
file(GLOB profile_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/profile/*.cpp)
# Texts are written once a recording.
set(profile_texts ${CMAKE_SOURCE_DIR}/cresset/profile/chrome_trace.cpp ${CMAKE_SOURCE_DIR}/cresset/profile/execution_trace.cpp)
set_source_files_properties(${profile_texts} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Os> SKIP_PRECOMPILE_HEADERS ON)
add_library(cresset_profile SHARED ${profile_sources})
set_target_properties(cresset_profile PROPERTIES EXPORT_NAME profile)
cresset_declare_units(cresset_profile)
cresset_precompile(cresset_profile ${CMAKE_SOURCE_DIR}/cresset/core/tensor_impl.h ${CMAKE_SOURCE_DIR}/cresset/base/scalar.h)
target_link_libraries(cresset_profile PUBLIC cresset PRIVATE cresset_flags ZLIB::ZLIB)
target_link_options(cresset_profile PRIVATE -Wl,-Bsymbolic-functions -Wl,--gc-sections)
if(CRESSET_PACKED_RELOCATIONS)
  target_link_options(cresset_profile PRIVATE -Wl,-z,pack-relative-relocs)
endif()
