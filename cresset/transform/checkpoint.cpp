#include "cresset/transform/checkpoint.h"

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/function.h"
#include "cresset/core/random/generator_scope.h"
#include "cresset/tensor.h"
#include "cresset/transform/autocast.h"
#include "cresset/transform/recorder.h"

namespace cresset::utils {

namespace {

using autograd::variable_list;
using ListFunction = std::function<variable_list(const variable_list&)>;

struct CheckpointNode final : autograd::CustomNode {
  CheckpointNode(ListFunction f, bool preserve_rng_state)
      : CustomNode(nullptr, "Checkpoint"),
        function(std::move(f)),
        has_random(preserve_rng_state),
        in_autocast(amp::is_autocast_enabled(kCPU)),
        dtype(amp::get_autocast_dtype(kCPU)) {
    if (has_random) random = copy_of_default_generator();
  }

  std::string name() const override { return "CheckpointBackward"; }

  const ListFunction function;
  const bool has_random, in_autocast;
  const ScalarType dtype;
  Generator random;

 protected:
  variable_list apply(variable_list&& grads) override {
    variable_list inputs = context()->get_saved_variables(), outputs;
    for (Tensor& t : inputs)
      if (t.defined()) t = t.detach().set_requires_grad(t.requires_grad());
    // The last input is there to have an edge only.
    inputs.pop_back();
    {
      AutoGradMode with_grad(true);
      autocast region(kCPU, dtype, in_autocast);
      std::optional<DefaultGeneratorScope> scope;
      if (has_random) scope.emplace(random.clone());
      outputs = function(inputs);
    }
    CRESSET_CHECK(outputs.size() == grads.size(), "checkpoint: the function returned ", outputs.size(), " tensors when it was called again, and ", grads.size(),
                  " the first time");
    variable_list ends, end_grads;
    for (size_t i = 0; i < grads.size(); i++) {
      if (!grads[i].defined() || !outputs[i].requires_grad()) continue;
      ends.push_back(outputs[i]);
      end_grads.push_back(grads[i]);
    }
    if (!ends.empty()) autograd::backward(ends, end_grads);
    variable_list result;
    for (const Tensor& t : inputs) result.push_back(t.defined() ? t.grad() : Tensor());
    result.emplace_back();
    return result;
  }
};

}  // namespace

variable_list checkpoint(ListFunction function, const variable_list& inputs, bool preserve_rng_state) {
  if (!GradMode::is_enabled()) return function(inputs);
  auto node = make_intrusive<CheckpointNode>(std::move(function), preserve_rng_state);
  variable_list all = inputs;
  // Parameters that the function uses want their gradients where no input does, too.
  all.push_back(zeros({0}).requires_grad_());
  const bool recorded = node->start(all, std::vector<bool>(all.size(), true));
  node->context()->save_for_backward(all);
  variable_list outputs;
  {
    AutoGradMode no_grad(false);
    outputs = node->function(inputs);
  }
  node->finish(all, outputs, recorded);
  return outputs;
}

Tensor checkpoint(std::function<Tensor(const Tensor&)> function, const Tensor& input, bool preserve_rng_state) {
  return checkpoint([f = std::move(function)](const variable_list& list) { return variable_list{f(list[0])}; }, {input}, preserve_rng_state)[0];
}

Tensor in_segments(const std::vector<std::function<Tensor(const Tensor&)>>& functions, size_t segments, Tensor input, const CheckpointCall& checkpointed) {
  CRESSET_CHECK_VALUE(segments > 0 && segments <= functions.size(), "checkpoint_sequential: segments must be 1 to ", functions.size(), ", got ", segments);
  const size_t size = functions.size() / segments;
  const auto run = [&](size_t start, size_t end) {
    const std::vector<std::function<Tensor(const Tensor&)>> part(functions.begin() + static_cast<std::ptrdiff_t>(start),
                                                                 functions.begin() + static_cast<std::ptrdiff_t>(end));
    return [part](const Tensor& x) {
      Tensor y = x;
      for (const auto& f : part) y = f(y);
      return y;
    };
  };
  for (size_t i = 0; i + 1 < segments; i++) input = checkpointed(run(i * size, (i + 1) * size), input);
  return run((segments - 1) * size, functions.size())(input);
}

Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions, size_t segments, Tensor input, bool preserve_rng_state) {
  return in_segments(functions, segments, std::move(input), [&](auto part, const Tensor& x) { return checkpoint(std::move(part), x, preserve_rng_state); });
}

}  // namespace cresset::utils
