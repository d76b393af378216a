# The folders kernels/*/cpu are compiled once per instruction set; everything else of the room once.
set(kernels ${CMAKE_SOURCE_DIR}/cresset/kernels)
file(GLOB kernel_common CONFIGURE_DEPENDS ${kernels}/*.cpp ${kernels}/*/*.cpp)
file(GLOB kernel_cpu CONFIGURE_DEPENDS ${kernels}/*/cpu/*.cpp)
file(GLOB_RECURSE base_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/base/*.cpp)

set(kernel_sources ${base_sources} ${kernel_common})
cresset_unite(kernel_sources)
add_library(cresset_kernels OBJECT ${kernel_sources})
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
# Sanitizer builds, whose kernels are slow to compile, take one set under the name of the baseline.
if(CRESSET_SINGLE_ISA AND isa_avx2_flags)
  set(isa ${CRESSET_SINGLE_ISA})
  if(isa STREQUAL native)
    file(STRINGS /proc/cpuinfo features REGEX "^flags" LIMIT_COUNT 1)
    set(isa baseline)
    if(features MATCHES "avx512_bf16" AND features MATCHES "avx512_vnni")
      set(isa avx512)
    elseif(features MATCHES "avx2" AND features MATCHES "f16c")
      set(isa avx2)
    endif()
  endif()
  set(isa_names baseline)
  set(isa_baseline_flags ${isa_${isa}_flags})
  add_compile_definitions(CRESSET_SINGLE_ISA)
endif()
# Products and sums of matrix products and convolutions may fuse; everything else keeps the two roundings of the source.
file(GLOB kernel_fused CONFIGURE_DEPENDS ${kernels}/gemm/cpu/gemm*.cpp ${kernels}/conv/cpu/conv*.cpp)
set_source_files_properties(${kernel_fused} PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
# Size where it costs least: products of integers are rare; conversions, comparisons, pooling and extrema wait for memory; reductions
# and norms of columns are written out as vectors, which -O3 only repeats.
set_source_files_properties(${kernels}/gemm/cpu/gemm_integer.cpp PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
set(is_lean $<AND:$<CONFIG:Release>,$<NOT:$<STREQUAL:$<TARGET_PROPERTY:NAME>,cresset_kernels_baseline>>>)
foreach(lean conv/cpu/conv_low layout/cpu/convert linalg/cpu/distance_rows index/cpu/index_rows norm/cpu/norm_columns pointwise/cpu/pointwise_bessel
             pointwise/cpu/pointwise_compare pool/cpu/pool_avg pool/cpu/pool_max reduce/cpu/reduce_logic reduce/cpu/reduce_norm reduce/cpu/reduce_order
             reduce/cpu/reduce_sum reduce/cpu/scan_order sort/cpu/sort_rows sparse/cpu/sparse_rows)
  set_property(SOURCE ${kernels}/${lean}.cpp APPEND PROPERTY COMPILE_OPTIONS
               "$<${is_lean}:-O2;-ftree-vectorize;-fvect-cost-model=dynamic>")
endforeach()
if(CRESSET_SANITIZE)
  set(kernel_optimization "")
else()
  set(kernel_optimization $<$<CONFIG:Release>:-O3>)
endif()
# Special functions whose one build serves every instruction set (CRESSET_POINTWISE_BASELINE).
file(GLOB kernel_baseline CONFIGURE_DEPENDS ${kernels}/pointwise/cpu/pointwise_series_*.cpp)
list(REMOVE_ITEM kernel_cpu ${kernel_baseline})
# Gathers, running extrema and sparse products wait for memory or for the step before: AVX2's build serves AVX-512 (CRESSET_DECLARE_AVX2_KERNEL).
set(kernel_cpu_avx512 ${kernel_cpu})
list(REMOVE_ITEM kernel_cpu_avx512 ${kernels}/index/cpu/index_rows.cpp ${kernels}/reduce/cpu/scan_order.cpp ${kernels}/sparse/cpu/sparse_rows.cpp)
if(kernel_cpu)
  foreach(isa IN LISTS isa_names)
    if(isa STREQUAL avx512)
      add_library(cresset_kernels_avx512 OBJECT ${kernel_cpu_avx512})
    else()
      add_library(cresset_kernels_${isa} OBJECT ${kernel_cpu})
    endif()
    if(isa STREQUAL baseline)
      target_sources(cresset_kernels_${isa} PRIVATE ${kernel_baseline})
    endif()
    target_link_libraries(cresset_kernels_${isa} PRIVATE cresset_flags)
    target_compile_definitions(cresset_kernels_${isa} PRIVATE CRESSET_ISA=isa_${isa})
    target_compile_options(cresset_kernels_${isa} PRIVATE ${isa_${isa}_flags})
    # Beside AVX2 the baseline serves only processors without it: a third of the size.
    if(isa STREQUAL baseline AND avx2 IN_LIST isa_names)
      target_compile_options(cresset_kernels_${isa} PRIVATE $<$<CONFIG:Release>:-Os>)
    else()
      # Padding before jumps and loops is a twentieth of the kernels and buys no measurable time.
      target_compile_options(cresset_kernels_${isa} PRIVATE ${kernel_optimization} -fno-align-jumps -fno-align-labels -fno-align-loops)
    endif()
    list(APPEND CRESSET_KERNEL_OBJECTS $<TARGET_OBJECTS:cresset_kernels_${isa}>)
  endforeach()
endif()

# The kernels alone: for kernel tests and the kernel laboratory, which need no tensors.
add_library(cresset_kernels_static STATIC EXCLUDE_FROM_ALL ${CRESSET_KERNEL_OBJECTS})
target_link_libraries(cresset_kernels_static PUBLIC cresset_flags pthread ${CMAKE_DL_LIBS})
