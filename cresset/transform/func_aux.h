#pragma once
// The transforms of func.h for functions of several results that also give tensors which are not differentiated, "aux". Include it by
// name: <cresset/transform/func_aux.h>.

#include <optional>

#include "cresset/transform/vmap.h"

namespace cresset {
namespace func {

struct CRESSET_API Results {
  Tensors values, aux;
};
using AuxFunction = std::function<Results(const Tensors&)>;

struct CRESSET_API Tangents {
  Results results;
  Tensors tangent;
};
// `strict`: a result that does not depend on the primals is an error, else its tangent is zeros.
CRESSET_API Tangents jvp(const AuxFunction& f, const Tensors& primals, const Tensors& tangents, bool strict);

struct CRESSET_API Pullback {
  Results results;
  // create_graph is by default whether the vectors require grad or the results depend on what others differentiate.
  std::function<Tensors(const Tensors& vectors, bool retain_graph, std::optional<bool> create_graph)> pull;
};
CRESSET_API Pullback vjp(const AuxFunction& f, const Tensors& primals);

struct CRESSET_API Gradient {
  Tensors gradient;
  Results results;
};
CRESSET_API Gradient grad_and_value(const AuxFunction& f, const Tensors& primals);

struct CRESSET_API JacobianOptions {
  // Passes that run at once; 0: all.
  int64_t chunk_size = 0;
  // Writes each chunk into the result, so that chunks are not all in memory beside it.
  bool preallocate = false;
  // The behaviour of random operators in the passes of forward mode.
  Randomness randomness = Randomness::Error;
};
struct CRESSET_API Jacobians {
  // blocks[i][j]: of result i with respect to primal j, of shape result + primal.
  std::vector<Tensors> blocks;
  Tensors aux;
};
// Errors: complex primals or results.
CRESSET_API Jacobians jacrev(const AuxFunction& f, const Tensors& primals, const JacobianOptions& options = {});
CRESSET_API Jacobians jacfwd(const AuxFunction& f, const Tensors& primals, const JacobianOptions& options = {});

struct CRESSET_API Mapped {
  Tensors results;
  // For each result where the batch goes, nullopt for one that does not depend on it.
  std::vector<std::optional<int64_t>> out_dims;
};
// Calls `f` for a batch as `vmap` does, but `f` itself says where the batch goes, in place of `options.out_dims`. Arguments that are not mapped may be
// undefined.
CRESSET_API Tensors map_over_batch(const std::function<Mapped(const Tensors&)>& f, const Tensors& arguments, const VmapOptions& options);

}  // namespace func
}  // namespace cresset
