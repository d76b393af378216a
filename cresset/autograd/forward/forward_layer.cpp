// The layer of forward mode: one boxed kernel for all operators, and the rules that give results their tangents.

#include "cresset/autograd/forward/forward_layer.h"

#include <cstring>

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/batched.h"
#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/generated_support.h"
#include "cresset/core/hooks.h"
#include "cresset/dispatch/registry.h"
#include "cresset/ops/functions.h"

namespace cresset::autograd {

using dispatch::FunctionSchema;
using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

namespace {

thread_local bool t_enabled = true;
std::atomic<BatchingLayer*> g_batching{nullptr};

// One tensor among the arguments that has a tangent.
struct DualSlot {
  Tensor primal, tangent;
};

// Results of an operator: its tensors, and a tangent for each tensor among them in order; undefined stands for zeros.
struct Derived {
  Stack results;
  variable_list tangents;
};

// The row of forward mode of an operator; transposed for one that has none.
ForwardRow row_of(const OpEntry& op) {
  const ForwardRow* end = kForwardRows + kNumForwardRows;
  const ForwardRow* at = std::lower_bound(kForwardRows, end, op.name, [](const ForwardRow& r, const char* name) { return std::strcmp(r.op->name, name) < 0; });
  return at != end && at->op == &op ? *at : ForwardRow{&op, ForwardRule::transposed, 0};
}

template <class F> void for_each_result(const Stack& results, F&& visit) {
  for (const Value& v : results) dispatch::for_each_tensor(v, visit);
}

bool differentiable(const Tensor& t) { return is_differentiable_type(t.scalar_type()); }

class Call {
 public:
  Call(const OpEntry& op, Stack arguments, uint64_t level) : op_(op), arguments_(std::move(arguments)), level_(level), row_(row_of(op)) {
    bool lower = false;
    for (const Value& v : arguments_)
      dispatch::for_each_tensor(v, [&](const Tensor& t) {
        lower = lower || innermost_level(t, level - 1);
        if (const ForwardTangent* tangent = find_tangent(t, level)) {
          duals_.push_back({t, tangent->value});
          lower = lower || innermost_level(tangent->value, level - 1);
        }
      });
    hidden_ = !lower;
  }

  // No tangent of an outer level is about, so that the layer need not be entered again.
  bool hides_layer() const { return hidden_; }

  Derived derive() const {
    if (op_.flags & dispatch::kViewOp) return geometry();
    switch (row_.rule) {
      case ForwardRule::linear: return linear();
      case ForwardRule::multilinear: return multilinear();
      case ForwardRule::formula: return by_formula();
      case ForwardRule::pointwise: return pointwise();
      default: return transposed();
    }
  }

  // The tangents of the arguments from `first` on, zeros where they have none; indices and masks as they are.
  Stack tangents(size_t first) const {
    Stack along(arguments_.begin(), arguments_.begin() + static_cast<int64_t>(first));
    for (size_t i = first; i < arguments_.size(); i++) {
      if (row_.kept >> i & 1) {
        along.push_back(arguments_[i]);
        continue;
      }
      along.push_back(dispatch::map_tensors(arguments_[i], [&](const Tensor& t) {
        const Tensor found = tangent(t);
        if (found.defined()) return found;
        return t.impl()->is_wrapped_number() ? wrapped_scalar_tensor(0) : cresset::zeros_like(t);  // who listens hears a number, too
      }));
    }
    return along;
  }
  ForwardRule rule() const { return row_.rule; }

  Stack run(Stack arguments) const {
    dispatch::call_boxed(op_, arguments);
    return arguments;
  }

  const Stack& arguments() const { return arguments_; }
  Tensor tangent(const Tensor& t) const {
    const ForwardTangent* found = find_tangent(t, level_);
    return found ? found->value : Tensor();
  }

 private:
  // The arguments with each dual tensor replaced, in order.
  template <class F> Stack replaced(F&& replacement) const {
    Stack out;
    size_t i = 0;
    for (const Value& v : arguments_)
      out.push_back(dispatch::map_tensors(v, [&](const Tensor& t) { return find_tangent(t, level_) ? replacement(i++, t) : t; }));
    return out;
  }

  static variable_list tensors_of(const Stack& results) {
    variable_list list;
    for_each_result(results, [&](const Tensor& t) { list.push_back(t); });
    return list;
  }

  Derived linear() const { return {run(arguments_), own(tensors_of(run(tangents(0))))}; }

  // A view of the tangent, of the same memory that later changes in place go to.
  Derived geometry() const {
    const bool from_storage = !std::strcmp(op_.name, "as_strided");
    Stack along = replaced([&](size_t i, const Tensor&) { return from_storage ? over_storage(duals_[i]) : duals_[i].tangent; });
    return {run(arguments_), tensors_of(run(std::move(along)))};
  }

  // The tangent in memory laid out as the primal's, zeros around it: as_strided may look beyond the tensor.
  static Tensor over_storage(const DualSlot& dual) {
    const Tensor &x = dual.primal, &t = dual.tangent;
    if (!x.has_storage() || !t.has_storage()) return t;
    const int64_t bytes = static_cast<int64_t>(x.storage().nbytes());
    if (t.storage_offset() == x.storage_offset() && t.strides() == x.strides() && static_cast<int64_t>(t.storage().nbytes()) == bytes) return t;
    const Tensor memory = cresset::zeros({bytes / static_cast<int64_t>(x.element_size())}, t.options());
    Tensor part = memory.as_strided(x.sizes(), x.strides(), x.storage_offset());
    part.copy_(t);
    return part;
  }

  Derived multilinear() const {
    Tensor sum;
    for (size_t k = 0; k < duals_.size(); k++) {
      const Tensor part = run(replaced([&](size_t i, const Tensor& t) { return i == k ? duals_[k].tangent : t; }))[0].to_tensor();
      sum = sum.defined() ? sum + part : part;
    }
    return {run(arguments_), own({sum})};
  }

  Derived by_formula() const {
    Stack results = run(arguments_);
    Tensor tangent = row_.formula(arguments_, tangents(0), results[0].to_tensor());
    return {std::move(results), own({std::move(tangent)})};
  }

  // ---- rules that come from the gradient

  // Something outside of forward mode differentiates this call too.
  bool recorded_outside() const {
    if (!GradMode::is_enabled()) return false;
    bool any = false;
    for (const Value& v : arguments_) dispatch::for_each_tensor(v, [&](const Tensor& t) { any = any || t.requires_grad(); });
    for (const DualSlot& d : duals_) any = any || d.tangent.requires_grad();
    return any;
  }

  // The same values with a place in the graph of their own. Their saved copies keeps the tangents that are hidden here: a
  // later backward pass through it is differentiated along them.
  Tensor watched(const Tensor& t, bool outside) const {
    if (!outside || !t.requires_grad()) return without_history(t).requires_grad_();
    const Tensor alias = cresset::alias(t);
    copy_tangents(t, alias);
    return alias;
  }
  Derived finished(Stack results, variable_list tangents, bool outside) const {
    if (!outside) {
      for (Value& v : results) v = dispatch::map_tensors(v, [&](const Tensor& t) { return t.requires_grad() ? without_history(t) : t; });
      for (Tensor& t : tangents)
        if (t.defined() && t.requires_grad()) t = without_history(t);
    }
    return {std::move(results), own(std::move(tangents))};
  }

  Derived transposed() const {
    const bool outside = recorded_outside();
    const AutoGradMode record(true);
    variable_list inputs;
    Stack results = run(replaced([&](size_t, const Tensor& t) { return inputs.emplace_back(watched(t, outside)); }));
    variable_list tangents = tensors_of(results), outputs, seeds;
    for (const Tensor& y : tangents)
      if (y.requires_grad()) {
        outputs.push_back(y);
        seeds.push_back(cresset::zeros_like(y.detach()).requires_grad_());
      }
    variable_list found(outputs.size());
    if (!outputs.empty()) {
      const variable_list gradients = grad(outputs, inputs, seeds, true, true, true);
      variable_list sums, along;
      for (size_t i = 0; i < inputs.size(); i++)
        if (gradients[i].defined() && gradients[i].requires_grad()) {
          sums.push_back(gradients[i]);
          along.push_back(duals_[i].tangent);
        }
      if (!sums.empty()) found = grad(sums, seeds, along, true, outside, true);
    }
    size_t next = 0;
    // A gradient that is zero has a tangent that is zero; what is not differentiable has none.
    for (Tensor& t : tangents) {
      if (!t.requires_grad()) {
        t = Tensor();
        continue;
      }
      const Tensor& along = found[next++];
      t = along.defined() ? along : cresset::zeros_like(t.detach());
    }
    return finished(std::move(results), std::move(tangents), outside);
  }

  Derived pointwise() const {
    bool real = duals_.size() == 1;
    int64_t dims = 0;
    for (const Value& v : arguments_)
      dispatch::for_each_tensor(v, [&](const Tensor& t) {
        real = real && !is_complex_type(t.scalar_type());
        dims = std::max(dims, t.dim());
      });
    if (!real) return transposed();
    DimVector sizes(static_cast<size_t>(dims), 1);
    for (const Value& v : arguments_)
      dispatch::for_each_tensor(v, [&](const Tensor& t) {
        for (int64_t d = 0; d < t.dim(); d++)
          if (t.size(d) != 1) sizes[static_cast<size_t>(dims - t.dim() + d)] = t.size(d);
      });
    const bool outside = recorded_outside();
    const AutoGradMode record(true);
    Tensor input;
    Stack results = run(replaced([&](size_t, const Tensor& t) {
      input = watched(t, outside);
      if (t.sizes() == IntArrayRef(sizes)) return input;
      // The gradient of the expanded tensor is not summed.
      return input = input.expand(sizes);
    }));
    const Tensor& y = results[0].to_tensor();
    Tensor along;
    if (y.requires_grad()) {
      along = duals_[0].tangent.expand(y.sizes());
      if (along.scalar_type() != y.scalar_type()) along = along.to(y.scalar_type());
      along = grad({y}, {input}, {along}, true, outside, true)[0];
    }
    return finished(std::move(results), {along}, outside);
  }

  // Tangents of new results have memory of their own: a change in place of one tensor must not reach another.
  variable_list own(variable_list tangents) const {
    for (Tensor& t : tangents) {
      if (!t.defined() || !t.has_storage()) continue;
      bool shared = false;
      for (const DualSlot& d : duals_)
        shared = shared || (d.tangent.has_storage() && t.is_alias_of(d.tangent)) || (d.primal.has_storage() && t.is_alias_of(d.primal));
      if (shared) t = t.clone();
    }
    return tangents;
  }

  const OpEntry& op_;
  const Stack arguments_;
  const uint64_t level_;
  const ForwardRow row_;
  std::vector<DualSlot> duals_;
  bool hidden_ = true;
};

// Where the tangent of a tensor that is changed in place is written: that of its base, if it is a view.
Tensor tangent_memory(const Tensor& t, uint64_t level);

// A first tangent of a tensor that is no view; views that were made of it before have theirs in the same memory.
void start_tangent(const Tensor& t, uint64_t level, const Tensor& value) {
  set_tangent(t, level, value);
  for (const Tensor& view : views_without_tangent(t, level)) tangent_memory(view, level);
}

Tensor tangent_memory(const Tensor& t, uint64_t level) {
  if (const ForwardTangent* found = find_tangent(t, level)) return found->value;
  if (!t.is_view()) {
    start_tangent(t, level, cresset::zeros_like(t));
    return find_tangent(t, level)->value;
  }
  const Tensor& base = t._base();
  Tensor memory = tangent_memory(base, level);
  if (memory.is_complex() && !t.is_complex()) {
    memory = cresset::view_as_real(memory);
    memory = memory.as_strided(t.sizes(), t.strides(), t.storage_offset() - 2 * base.storage_offset() + memory.storage_offset());
  } else {
    memory = memory.as_strided(t.sizes(), t.strides(), t.storage_offset() - base.storage_offset() + memory.storage_offset());
  }
  set_tangent(t, level, memory);
  return find_tangent(t, level)->value;
}

void write_tangent(const Tensor& t, uint64_t level, const Tensor& value) {
  const ForwardTangent* old = find_tangent(t, level);
  if (!old && !value.defined()) return;
  if (!old && !t.is_view()) return start_tangent(t, level, value.defined() ? value.expand(t.sizes()) : cresset::zeros_like(t));
  if (old && old->value.is_leaf() && old->value.requires_grad()) {
    set_tangent(t, level, value.defined() ? value.expand(t.sizes()) : cresset::zeros_like(t));
    return;
  }
  Tensor memory = tangent_memory(t, level);
  if (value.defined()) memory.copy_(value);
  else memory.zero_();
}

// Changes of geometry in place: t_, squeeze_ and the like.
void reshape_in_place(const Call& call, const OpEntry& op, Stack& stack, uint64_t level) {
  const Tensor self = call.arguments()[0].to_tensor();
  const Tensor old = call.tangent(self);
  Stack along = call.arguments();
  along[0] = Value(cresset::alias(old));
  dispatch::call_boxed(op, along);
  Stack results = call.run(call.arguments());
  set_tangent(self, level, along[0].to_tensor());
  for (Value& v : results) stack.push_back(std::move(v));
}

void change_in_place(const Call& call, const OpEntry& op, Stack& stack, uint64_t level) {
  const Tensor self = call.arguments()[0].to_tensor();
  if ((op.flags & dispatch::kViewOp) && call.tangent(self).defined()) return reshape_in_place(call, op, stack, level);
  if (!op.functional && call.rule() == ForwardRule::linear) {
    // copy_ and its like do to the tangents what they do to the values. They have a dual among their arguments, or were not here.
    Stack results = call.run(call.arguments());
    if (differentiable(self)) {
      const Tensor memory = tangent_memory(self, level);
      if (memory.is_leaf() && memory.requires_grad()) set_tangent(self, level, memory.clone());
      Stack along = call.tangents(1);
      along[0] = Value(tangent_memory(self, level));
      dispatch::call_boxed(op, along);
    }
    for (Value& v : results) stack.push_back(std::move(v));
    return;
  }
  if (!op.functional) {
    // Fills with numbers and random samplers: nothing of the result depends on a tensor.
    Stack results = call.run(call.arguments());
    write_tangent(self, level, Tensor());
    for (Value& v : results) stack.push_back(std::move(v));
    return;
  }
  Stack arguments = call.arguments();
  // The operators that find the tangent may save its input, which is about to change.
  const Tensor tangent = call.tangent(self);
  const Tensor kept = self.clone();
  if (tangent.defined()) set_tangent(kept, level, tangent.clone());
  arguments[0] = Value(kept);
  const Call functional(*op.functional, std::move(arguments), level);
  Derived derived = functional.derive();
  const Tensor& result = derived.results[0].to_tensor();
  if (result.is_complex() && !self.is_complex()) call.run(call.arguments());  // says why it cannot be
  // Not the operator itself: it might draw other random numbers, and what it saves of self has no tangent.
  self.copy_(result);
  stack.push_back(call.arguments()[0]);
  write_tangent(self, level, derived.tangents.empty() ? Tensor() : derived.tangents[0]);
}

}  // namespace

Stack take_arguments(Stack& stack, size_t n) {
  Stack arguments(std::make_move_iterator(stack.end() - static_cast<int64_t>(n)), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - n);
  return arguments;
}

void run_composite(const OpEntry& op, Stack& stack) {
  if (const dispatch::Extension* e = op.extension.load(std::memory_order_acquire)) {
    if (const dispatch::Kernel* k = e->composite.load(std::memory_order_acquire)) {
      if (k->boxed) k->boxed(op, stack);
      else op.call_typed(k->typed, stack);
      return;
    }
  }
  op.call_typed(op.slot(OpEntry::decomposition_slot), stack);
}

bool is_composite(const OpEntry& op) {
  if (op.flags & dispatch::kCompositeOp) return true;
  const dispatch::Extension* e = op.extension.load(std::memory_order_acquire);
  return e && !op.signature && e->composite.load(std::memory_order_acquire);
}

bool is_forward_mode_enabled() { return t_enabled; }
void set_forward_mode_enabled(bool enabled) { t_enabled = enabled; }

void register_transform_layer() {
  static const bool registered = (dispatch::set_layer_fallback(kTransformLayer, forward_mode_layer), true);
  (void)registered;
}

void set_batching_layer(BatchingLayer* layer) {
  register_transform_layer();
  g_batching.store(layer, std::memory_order_release);
}

void forward_mode_layer(const OpEntry& op, Stack& stack) {
  // Batches are outermost: what runs below them are values with tangents and histories.
  if (BatchingLayer* batching = g_batching.load(std::memory_order_acquire))
    if (batching(op, stack)) return;
  const FunctionSchema& schema = op.function_schema();
  const size_t n = schema.arguments.size(), first = stack.size() - n;
  uint64_t level = 0;
  // Under functionalize its layer comes first, and lets the values come here.
  const LayerState& layers = layer_state();
  const bool functionalizes = layers.included & ~layers.hidden & layer_bit(Layer::Functionalize);
  if (t_enabled && !functionalizes)
    for (size_t i = first; i < stack.size(); i++) dispatch::for_each_tensor(stack[i], [&](const Tensor& t) { level = std::max(level, innermost_level(t)); });
  if (level == 0) {
    const ExcludeLayers below(layer_bit(kTransformLayer));
    dispatch::call_boxed(op, stack);
    return;
  }
  if (is_composite(op)) return run_composite(op, stack);
  CRESSET_CHECK_NOT_IMPLEMENTED(!(op.flags & dispatch::kOutOp), op.name,
                                ": out=... arguments don't support automatic differentiation, but an argument has a forward-mode tangent");
  const Call call(op, take_arguments(stack, n), level);
  const HideTangents outer(level - 1);
  const ExcludeLayers hidden(call.hides_layer() ? layer_bit(kTransformLayer) : uint8_t{0});
  if (schema.arguments[0].writes) return change_in_place(call, op, stack, level);
  Derived derived = call.derive();
  size_t next = 0;
  for_each_result(derived.results, [&](const Tensor& t) {
    const Tensor& tangent = derived.tangents[next++];
    if (tangent.defined() && differentiable(t)) set_tangent(t, level, tangent);
  });
  for (Value& v : derived.results) stack.push_back(std::move(v));
}

}  // namespace cresset::autograd
