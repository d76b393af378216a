# cresset_precompile(target HEADER...): the standard library and headers that rows do not change are read once for a target, not once for each unit.
# Not beside ccache, which finds the objects of other checkouts only where units depend on no file of this one's build.
function(cresset_precompile target)
  if(NOT CRESSET_CCACHE AND NOT CRESSET_SANITIZE)
    target_precompile_headers(${target} PRIVATE <algorithm> <functional> <map> <memory> <mutex> <optional> <string> <tuple> <unordered_map> <vector> ${ARGN})
    # GCC forgets what a precompiled header said about warnings: ours, and the compiler's own of vectors.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-init-list-lifetime;-Wno-uninitialized;-Wno-maybe-uninitialized>)
  endif()
endfunction()
