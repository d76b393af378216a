#include "cresset/graph/codegen/history.h"

#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/pass.h"
#include "cresset/autograd/variable.h"
#include "cresset/ops/functions.h"

namespace cresset::graph {

namespace {

using autograd::AutoGradMode;
using autograd::GradMode;
using autograd::variable_list;

// The history of a gradient that was computed by a compiled backward: it has none.
struct NoSecondDerivative final : autograd::Node {
  std::string name() const override { return "CompiledBackwardBackward"; }
  variable_list apply(variable_list&&) override {
    CRESSET_CHECK(false, "torch.compile: the backward of a compiled graph has no derivative of its own; use backend=\"eager\" for second derivatives");
  }
};

}  // namespace

void CompiledBackward::keep(dispatch::Value&& value) {
  versions_.push_back(0);
  // Without a history: it may be a result, whose history holds this node.
  if (value.is_tensor() && value.to_tensor().defined()) {
    value = value.to_tensor().detach();
    versions_.back() = value.to_tensor().impl()->version();
  }
  kept_.push_back(std::move(value));
}

void CompiledBackward::release_variables() {
  kept_.clear();
  released_ = true;
}

variable_list CompiledBackward::apply(variable_list&& grads) {
  CRESSET_CHECK(!released_, "backward: the graph has been freed by an earlier call; pass retain_graph=true to the first call to go through it again");
  const bool again = GradMode::is_enabled();
  variable_list found(num_outputs());
  {
    const AutoGradMode off(false);
    for (size_t i = 0; i < kept_.size(); i++)
      CRESSET_CHECK(!kept_[i].is_tensor() || !kept_[i].to_tensor().defined() || kept_[i].to_tensor().impl()->version() == versions_[i],
                    "torch.compile: one of the variables needed for gradient computation has been modified by an inplace operation: a tensor of sizes ",
                    kept_[i].to_tensor().sizes(), " that a compiled graph has kept for backward");
    // The last pass gives what was kept away, so that it is freed while the program runs.
    Values inputs;
    inputs.reserve(kept_.size() + grads.size());
    if (again || autograd::pass_keeps_graph()) {
      inputs = kept_;
    } else {
      inputs = std::exchange(kept_, {});
      released_ = true;
    }
    for (size_t i = 0; i < grads.size(); i++) {
      const IntArrayRef wanted = strides(i);
      Tensor g = grads[i].defined() ? grads[i].detach() : input_metadata(i).zeros_like();
      if (g.strides() != wanted) g = cresset::empty_strided(g.sizes(), wanted, g.options()).copy_(g);
      inputs.emplace_back(std::move(g));
      if (!again) grads[i] = Tensor();
    }
    Values results = backward(std::move(inputs));
    CRESSET_CHECK(results.size() == found.size(), "torch.compile: a compiled backward gives ", results.size(), " gradients, expected ", found.size());
    for (size_t i = 0; i < results.size(); i++)
      if (results[i].is_tensor() && should_compute_output(i)) found[i] = std::move(results[i]).to_tensor();
  }
  if (again) {
    auto refusal = autograd::make_node<NoSecondDerivative>();
    for (const Tensor& g : grads) refusal->add_next_edge(g.defined() && g.requires_grad() ? autograd::impl::gradient_edge(g) : autograd::Edge{});
    for (const auto& edge : next_edges()) refusal->add_next_edge(edge);
    for (Tensor& g : found) {
      if (!g.defined()) continue;
      g = g.detach();
      autograd::set_history(g, refusal);
    }
  }
  return found;
}

}  // namespace cresset::graph
