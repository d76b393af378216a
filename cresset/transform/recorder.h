#pragma once
// Stand-ins for the tensors that a checkpointed call saved. For this room and the Python extension.

#include <map>
#include <mutex>

#include "cresset/autograd/saved/saved_variable.h"
#include "cresset/core/random/generator.h"
#include "cresset/transform/recompute.h"

namespace cresset::utils {

struct CRESSET_API CheckpointRecorder : std::enable_shared_from_this<CheckpointRecorder> {
  using Values = std::map<size_t, Tensor>;

  autograd::PackedTensor pack(const Tensor& t);
  Tensor unpack(const autograd::PackedTensor& packed);
  // Notes a tensor that is saved when the call runs again. Throws Done when no more are needed.
  void keep(const Tensor& t);

  // All tensors that are needed have been recomputed. It passes through the function, in Python as an exception of its own.
  struct CRESSET_API Done : std::exception {
    const char* what() const noexcept override { return "the recomputation has all it needs"; }
  };

  std::function<void()> call;
  CheckpointContext context;
  std::optional<Generator> random;
  bool in_autocast = false, check = true, early_stop = true, debug = false;
  // The forward pass has saved all that it saves.
  bool complete = false;
  ScalarType dtype = ScalarType::Undefined;

 private:
  CRESSET_LOCAL void recompute();
  CRESSET_LOCAL void compare() const;

  std::recursive_mutex mutex_;
  std::vector<autograd::InputMetadata> saved_, again_;
  std::vector<std::string> stacks_, stacks_again_;
  Values values_;
};

using CheckpointCall = std::function<Tensor(std::function<Tensor(const Tensor&)> function, const Tensor& input)>;
// The functions one after the other in `segments` parts, each but the last called through `checkpointed`.
Tensor in_segments(const std::vector<std::function<Tensor(const Tensor&)>>& functions, size_t segments, Tensor input, const CheckpointCall& checkpointed);

}  // namespace cresset::utils
