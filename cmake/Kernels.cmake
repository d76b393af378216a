# kernels/cpu is compiled once per instruction set; everything else of the room once.
file(GLOB kernel_common CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/kernels/*.cpp ${CMAKE_SOURCE_DIR}/cresset/kernels/iter/*.cpp
     ${CMAKE_SOURCE_DIR}/cresset/kernels/common/*.cpp ${CMAKE_SOURCE_DIR}/cresset/kernels/providers/*.cpp)
file(GLOB kernel_cpu CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/kernels/cpu/*.cpp)
file(GLOB base_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/base/*.cpp)

add_library(cresset_kernels OBJECT ${base_sources} ${kernel_common})
target_link_libraries(cresset_kernels PUBLIC cresset_flags)
set(CRESSET_KERNEL_OBJECTS $<TARGET_OBJECTS:cresset_kernels>)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(isa_names baseline avx2 avx512)
  set(isa_baseline_flags "")
  set(isa_avx2_flags -mavx2 -mfma -mf16c -mbmi -mbmi2)
  set(isa_avx512_flags -mavx2 -mfma -mf16c -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx512bf16
      -mprefer-vector-width=512)
else()
  set(isa_names baseline)
  add_compile_definitions(CRESSET_SINGLE_ISA)
endif()
# Products and sums of matrix products and convolutions may fuse; everything else keeps the two roundings of the source.
file(GLOB kernel_fused CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/kernels/cpu/gemm*.cpp ${CMAKE_SOURCE_DIR}/cresset/kernels/cpu/conv*.cpp)
set_source_files_properties(${kernel_fused} PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
if(kernel_cpu)
  foreach(isa IN LISTS isa_names)
    add_library(cresset_kernels_${isa} OBJECT ${kernel_cpu})
    target_link_libraries(cresset_kernels_${isa} PRIVATE cresset_flags)
    target_compile_definitions(cresset_kernels_${isa} PRIVATE CRESSET_ISA=isa_${isa})
    target_compile_options(cresset_kernels_${isa} PRIVATE ${isa_${isa}_flags} $<$<CONFIG:Release>:-O3>)
    list(APPEND CRESSET_KERNEL_OBJECTS $<TARGET_OBJECTS:cresset_kernels_${isa}>)
  endforeach()
endif()

# The kernels alone: for kernel tests and the kernel laboratory, which need no tensors.
add_library(cresset_kernels_static STATIC EXCLUDE_FROM_ALL ${CRESSET_KERNEL_OBJECTS})
target_link_libraries(cresset_kernels_static PUBLIC cresset_flags pthread ${CMAKE_DL_LIBS})
