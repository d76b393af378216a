#include "cresset/autograd/copy_slices.h"

#include "cresset/autograd/run_state.h"
#include "cresset/autograd/variable.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {

static intrusive_ptr<TensorImpl> without_memory(const TensorImpl& t) {
  auto impl = t.alias(true);
  impl->set_storage({});
  return impl;
}

CopySlices::CopySlices(const Tensor& base, const Tensor& view, intrusive_ptr<Node> fn)
    : base_(without_memory(*base.impl())), view_(without_memory(*view.impl())), fn_(std::move(fn)) {
  lock_apply_ = true;
  add_input_metadata(base);
  add_next_edge(impl::gradient_edge(base));
  for (uint32_t i = 1; i < fn_->num_outputs(); i++) add_next_edge(fn_->next_edge(i));
}

CopySlices::~CopySlices() { release_node(std::move(fn_)); }

void CopySlices::release_variables() { release_node(std::move(fn_)); }

namespace {

// Makes the wrapped node compute what this one is asked for, its own edge 0 being no part of the graph.
class Mask {
 public:
  Mask(const Node* node, const bool* wanted) : node_(t_run.mask_node), mask_(t_run.mask) {
    t_run.mask_node = node;
    t_run.mask = wanted;
  }
  ~Mask() {
    t_run.mask_node = node_;
    t_run.mask = mask_;
  }

 private:
  const Node* node_;
  const bool* mask_;
};

}  // namespace

variable_list CopySlices::apply(variable_list&& grads) {
  CRESSET_CHECK(fn_, "backward: the graph has been freed by an earlier call; pass retain_graph=true to the first call to go through it again");
  const Tensor& grad = grads[0];
  Tensor result = grad.new_empty_strided(base_->sizes(), base_->strides());
  result.copy_(grad);
  const Tensor slice = impl::replay_view(*view_, *base_, result);
  const auto wanted = std::make_unique<bool[]>(num_outputs() + 1);
  for (uint32_t i = 0; i < num_outputs(); i++) wanted[i] = should_compute_output(i) || (i == 0 && fn_->next_edge(0).is_valid());
  variable_list inner;
  {
    Mask mask(fn_.get(), wanted.get());
    inner = (*fn_)({slice.clone(MemoryFormat::Contiguous)});
  }
  variable_list out(num_outputs());
  for (uint32_t i = 0; i < num_outputs(); i++) {
    if (!should_compute_output(i)) continue;
    if (i > 0) {
      out[i] = inner[i];
      continue;
    }
    if (inner[0].defined()) slice.copy_(inner[0]);
    else slice.zero_();
    out[0] = result;
  }
  return out;
}

}  // namespace autograd
}  // namespace cresset
