# The shared library: every room down to io, the kernels of every instruction set, and what opgen derives from the rows.
include(cmake/Opgen.cmake)

set(library_sources)
foreach(room core dispatch ops autograd transform nn optim data io train)
  file(GLOB_RECURSE room_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/${room}/*.cpp)
  list(APPEND library_sources ${room_sources})
endforeach()

# Code whose time goes into the ops that it calls is kept small: a third of its size for no measurable time. A call on one element
# runs through these sources, which keep -O2.
set(fast_sources ${CRESSET_GENERATED_SOURCES} ${library_sources})
list(FILTER fast_sources INCLUDE REGEX
     "/cresset/(core/|autograd/((saved|forward)/)?[a-z_]+\\.cpp|dispatch/op\\.|ops/([a-z]+/)?(pointwise|support|factory|view|view_geometry|operators|matmul|memory|reduce|ops_(arithmetic|view|memory|factory|activation|matmul|reduce))(_[0-9]+)?\\.)")
set_source_files_properties(${fast_sources} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2> SKIP_PRECOMPILE_HEADERS ON)
# Loops of its own, twice as fast so.
set_source_files_properties(${CMAKE_SOURCE_DIR}/cresset/io/gguf_blocks.cpp PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_PRECOMPILE_HEADERS ON)

set_source_files_properties(${CMAKE_SOURCE_DIR}/cresset/ops/build_info.cpp PROPERTIES COMPILE_DEFINITIONS CRESSET_VERSION="${PROJECT_VERSION}")

set(object_sources ${library_sources} ${CRESSET_GENERATED_SOURCES})
cresset_unite(object_sources)
add_library(cresset_objects OBJECT ${object_sources})
target_link_libraries(cresset_objects PRIVATE cresset_flags)
target_compile_definitions(cresset_objects PRIVATE CRESSET_BUILDING_LIBRARY)
# The build for the processor at hand is made once: -O1 compiles in three quarters of the time, to a larger library.
if(CRESSET_SINGLE_ISA)
  target_compile_options(cresset_objects PRIVATE $<$<CONFIG:Release>:-O1>)
else()
  target_compile_options(cresset_objects PRIVATE $<$<CONFIG:Release>:-Os>)
endif()
# Exported functions are inlined and called directly within the library: no program puts functions of its own in their place.
target_compile_options(cresset_objects PRIVATE -fno-semantic-interposition)
cresset_precompile(cresset_objects ${CMAKE_SOURCE_DIR}/cresset/core/tensor_impl.h ${CMAKE_SOURCE_DIR}/cresset/core/tensor_options.h
                   ${CMAKE_SOURCE_DIR}/cresset/base/scalar.h)
add_dependencies(cresset_objects cresset_opgen)
cresset_declare_units(cresset_objects)

add_library(cresset SHARED $<TARGET_OBJECTS:cresset_objects> ${CRESSET_KERNEL_OBJECTS})
target_include_directories(cresset PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>
                                          $<INSTALL_INTERFACE:include>)
target_compile_features(cresset INTERFACE cxx_std_17)
find_package(ZLIB REQUIRED)
target_link_libraries(cresset PRIVATE ZLIB::ZLIB pthread ${CMAKE_DL_LIBS})
# Tables of kernels are full of addresses: packed they take 30 KB and not 600. Needs a loader that knows the format (glibc 2.36).
include(CheckCXXSourceRuns)
set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
check_cxx_source_runs("int x; int* p = &x; int main() { return *p; }" CRESSET_PACKED_RELOCATIONS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(CRESSET_PACKED_RELOCATIONS)
  target_link_options(cresset PRIVATE -Wl,-z,pack-relative-relocs)
endif()
# Functions of the library call each other directly and stand in its tables as plain offsets: no plt entries, and 8,000 fewer names to
# look up at start.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,-Bsymbolic-functions CRESSET_SYMBOLIC_FUNCTIONS)
if(CRESSET_SYMBOLIC_FUNCTIONS)
  target_link_options(cresset PRIVATE -Wl,-Bsymbolic-functions)
endif()
target_link_options(cresset PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map)
set_target_properties(cresset PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
if(CRESSET_SANITIZE)
  target_link_options(cresset PUBLIC -fsanitize=${CRESSET_SANITIZE})
endif()
