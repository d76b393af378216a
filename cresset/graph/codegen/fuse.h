#pragma once
// A pass: pointwise operators, and reductions of the last dimension between them, give way to kernels that run them tile after tile (fused.h, rows.h).

#include "cresset/graph/codegen/fused.h"
#include "cresset/graph/ir/graph.h"

namespace cresset::graph {

// The kernels that graphs call by their numbers; programs of these graphs run for as long as it lives.
class CRESSET_API Kernels {
 public:
  Kernels() = default;
  ~Kernels();
  Kernels(Kernels&& o) noexcept : kept_(std::exchange(o.kept_, {})) {}
  Kernels& operator=(Kernels&& o) noexcept {
    std::swap(kept_, o.kept_);
    return *this;
  }

  size_t size() const { return kept_.size(); }
  // The number for `cresset_fused::run`. `ones` tells the arguments that have a single element.
  int64_t add(std::shared_ptr<const Kernel> kernel, std::vector<bool> ones);
  // Takes over those of another.
  void add(Kernels&& others);
  // Makes the machine code of all of them, or reads it, before the first run.
  void prepare() const;

 private:
  struct Kept {
    int64_t number;
    std::shared_ptr<const Kernel> kernel;
    std::vector<bool> ones;
  };
  std::vector<Kept> kept_;
};

struct FuseOptions {
  // Weights of convolutions and linear maps are kept packed from their first call on, until another tensor comes or one is written. Writes that count as
  // no version (through `data`, or memory that NumPy shares) are not seen.
  bool freezing = false;
};

// Needs the sizes and strides of values (`propagate_shapes`); sizes may hold symbols. Nodes that write stay where they are, and no kernel reaches across one.
CRESSET_API Kernels fuse(Graph& graph, const FuseOptions& options = {});

// Nodes that are cheaper to compute again than to keep their values in memory: views, and single loops over elements that cost less
// than memory; more may they cost where the values are large.
CRESSET_API std::unordered_set<const Node*> cheaper_than_memory(Graph& graph);

}  // namespace cresset::graph
