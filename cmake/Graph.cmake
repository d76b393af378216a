# Graphs, a library of its own: only programs that use them load it (docs/records/0017-graph.md).
file(GLOB_RECURSE graph_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/graph/*.cpp)
list(FILTER graph_sources EXCLUDE REGEX /cresset/graph/codegen/)  # cmake/Compile.cmake
# The interpreter runs between kernels, and programs that start wait for the reader of files: their time counts.
file(GLOB graph_fast CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/graph/runtime/*.cpp ${CMAKE_SOURCE_DIR}/cresset/graph/io/*.cpp)
list(APPEND graph_fast ${CMAKE_SOURCE_DIR}/cresset/graph/script/lexer.cpp ${CMAKE_SOURCE_DIR}/cresset/graph/script/parser.cpp)
set_source_files_properties(${graph_fast} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2> SKIP_PRECOMPILE_HEADERS ON)
# Lines of C++ programs in errors of captures: a library that comes with GCC.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libbacktrace.a OUTPUT_VARIABLE backtrace_library OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
include(CheckIncludeFileCXX)
check_include_file_cxx(backtrace.h CRESSET_HAS_BACKTRACE_H)
if(CRESSET_HAS_BACKTRACE_H AND EXISTS "${backtrace_library}")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/cresset/graph/capture/place.cpp PROPERTIES COMPILE_DEFINITIONS CRESSET_BACKTRACE)
endif()
set(op_aliases ${CMAKE_BINARY_DIR}/generated/cresset/graph/op_aliases.inc)
add_custom_command(
  OUTPUT ${op_aliases}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/op_aliases.py ${CMAKE_BINARY_DIR}/generated/cresset/ops/schemas.json ${op_aliases}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/op_aliases.py ${CMAKE_BINARY_DIR}/generated/cresset/ops/schemas.json
  COMMENT "Aliases of operators")
add_custom_target(cresset_op_aliases DEPENDS ${op_aliases})  # for the fuzz targets, which compile these sources anew
cresset_unite(graph_sources)
add_library(cresset_graph SHARED ${graph_sources} ${op_aliases})
set_target_properties(cresset_graph PROPERTIES EXPORT_NAME graph)
add_dependencies(cresset_graph cresset_op_aliases)
cresset_declare_units(cresset_graph)
cresset_precompile(cresset_graph ${CMAKE_SOURCE_DIR}/cresset/core/tensor_impl.h ${CMAKE_SOURCE_DIR}/cresset/base/scalar.h)
target_link_libraries(cresset_graph PUBLIC cresset PRIVATE cresset_flags)
target_compile_options(cresset_graph PRIVATE $<$<CONFIG:Release>:-Os -ffunction-sections>)
target_link_options(cresset_graph PRIVATE -Wl,-Bsymbolic-functions -Wl,--gc-sections -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/graph_exports.map)
set_target_properties(cresset_graph PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/graph_exports.map)
if(CRESSET_PACKED_RELOCATIONS)
  target_link_options(cresset_graph PRIVATE -Wl,-z,pack-relative-relocs)
endif()
if(CRESSET_HAS_BACKTRACE_H AND EXISTS "${backtrace_library}")
  target_link_libraries(cresset_graph PRIVATE "$<BUILD_INTERFACE:${backtrace_library}>")
  target_link_options(cresset_graph PRIVATE -Wl,--exclude-libs,libbacktrace.a)
endif()
