// The layer of functionalize: operators on wrappers run on values; what changes a tensor gives it another value.

#include "cresset/transform/functionalize.h"

#include <algorithm>
#include <utility>

#include "cresset/autograd/batched.h"
#include "cresset/autograd/forward/forward_layer.h"
#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/rules/rules.h"
#include "cresset/core/functional.h"
#include "cresset/dispatch/listen.h"
#include "cresset/dispatch/registry.h"
#include "cresset/ops/functions.h"

namespace cresset::func {

using dispatch::for_each_tensor;
using dispatch::map_tensors;
using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

namespace {

// 0: off. Of the thread.
thread_local uint8_t t_mode = 0;
constexpr uint8_t kViewsAreCopies = 2;
thread_local bool t_values_heard_above = false;

// Calls go below this layer, and through the layers above it again: values may be batched.
class Below {
 public:
  Below() : hidden_(layer_state().hidden) {
    const uint8_t again = layer_bit(Layer::Vmap) | (t_values_heard_above ? layer_bit(Layer::Capture) : 0);
    layer_state().set_hidden(static_cast<uint8_t>((hidden_ | layer_bit(Layer::Functionalize)) & ~again));
  }
  ~Below() { layer_state().set_hidden(hidden_); }

 private:
  uint8_t hidden_;
};

Tensor fresh(const Tensor& value) {
  return Tensor(make_intrusive<FunctionalImpl>(make_intrusive<FunctionalBase>(value), std::vector<FunctionalImpl::View>(), value));
}

Tensor unwrapped(const Tensor& t) {
  FunctionalImpl* f = as_functional(t);
  return f ? f->value() : t;
}

Stack unwrapped(const Stack& arguments) {
  Stack values;
  for (const Value& v : arguments) values.push_back(map_tensors(v, [](const Tensor& t) { return unwrapped(t); }));
  return values;
}

Tensor view_of(const FunctionalImpl& self, FunctionalImpl::View step, const Tensor& value, bool is_copy) {
  std::vector<FunctionalImpl::View> views = self.views();
  views.push_back(std::move(step));
  return Tensor(make_intrusive<FunctionalImpl>(self.base(), std::move(views), t_mode == kViewsAreCopies && !is_copy ? value.clone() : value));
}

// Rules of forward mode record gradients too.
bool is_differentiated(const Tensor& t) { return t.defined() && (t.requires_grad() || autograd::has_tangent(t)); }

// Entries for listeners to hear of values that PyTorch has operators for; the same without a listener is plainly computed.
Tensor copied_to(const Tensor& self, const Tensor& source, bool) { return source.expand(self.sizes()).to(self.options()).clone(MemoryFormat::Contiguous); }
Tensor zeros_in(const Tensor& self) { return cresset::zeros_like(self); }
const dispatch::Op<Tensor(const Tensor&, const Tensor&, bool)> kCopy("copy", "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", 0, nullptr,
                                                                     &copied_to, &copied_to, nullptr, nullptr);
const dispatch::Op<Tensor(const Tensor&)> kZero("zero", "zero(Tensor self) -> Tensor", 0, nullptr, &zeros_in, &zeros_in, nullptr, nullptr);

// Whether a listener hears calls on `t` as they come: no layer is above.
bool is_heard_plainly(const Tensor& t) {
  return dispatch::listener_at(dispatch::ListenPlace::below_autograd) && !(t.impl()->layers() & ~(kAutogradLayer | kLazyMathLayer));
}

// A tensor that was expanded, with what the expanded one has more than it, summed over its copies.
Tensor with_sum_of_changes(const Tensor& whole, const Tensor& part, bool copies) {
  const Tensor more = part.sub(whole);
  std::vector<int64_t> dims;
  const int64_t added = part.dim() - whole.dim();
  for (int64_t d = 0; d < part.dim(); d++)
    if (d < added || (whole.size(d - added) == 1 && part.size(d) != 1)) dims.push_back(d);
  Tensor sum = dims.empty() ? more : more.sum(dims, true);
  if (added > 0) sum = copies ? cresset::view_copy(sum, whole.sizes()) : sum.view(whole.sizes());
  else if (copies) sum = sum.clone();
  return whole.add(sum);
}

// The tensor that has the value `part` where a view of it, made by `op` from it and `rest`, is; null where there is no operator for it.
std::function<Tensor(const Tensor&, const Tensor&)> way_back(const OpEntry& op, const Stack& rest) {
  using Put = std::function<Tensor(const Tensor&, const Tensor&)>;
  const std::string& name = op.function_schema().name;
  const bool copies = t_mode == kViewsAreCopies;
  const auto scatter = [&rest](const char* scatter_name) -> Put {
    const OpEntry& by = dispatch::find_op(scatter_name).entry();
    return [&by, rest](const Tensor& whole, const Tensor& part) {
      Stack stack{whole, part};
      stack.insert(stack.end(), rest.begin(), rest.end());
      // As in changed_value.
      const ExcludeLayers below(is_differentiated(whole) || is_differentiated(part) ? 0 : layer_bit(Layer::Autograd));
      dispatch::call_boxed(by, stack);
      return stack[0].to_tensor();
    };
  };
  if (name == "select") return scatter("select_scatter");
  if (name == "slice") return scatter("slice_scatter");
  if (name == "diagonal") return scatter("diagonal_scatter");
  if (name == "as_strided") return scatter("as_strided_scatter");
  if (name == "t") return [copies](const Tensor&, const Tensor& part) { return copies ? cresset::t_copy(part) : part.t(); };
  if (name == "transpose") {
    const int64_t a = rest[0].to_int(), b = rest[1].to_int();
    return [copies, a, b](const Tensor&, const Tensor& part) { return copies ? cresset::transpose_copy(part, a, b) : part.transpose(a, b); };
  }
  if (name == "permute") {
    const std::vector<int64_t> dims = rest[0].to_int_list();
    std::vector<int64_t> back(dims.size());
    for (size_t i = 0; i < dims.size(); i++)
      back[static_cast<size_t>(dims[i] < 0 ? dims[i] + static_cast<int64_t>(dims.size()) : dims[i])] = static_cast<int64_t>(i);
    return [copies, back](const Tensor&, const Tensor& part) { return copies ? cresset::permute_copy(part, back) : part.permute(back); };
  }
  if (name == "alias" || name == "detach") return [](const Tensor&, const Tensor& part) { return part; };
  if (name == "unsqueeze") {
    const int64_t dim = rest[0].to_int();
    return [copies, dim](const Tensor& whole, const Tensor& part) {
      const int64_t at = dim < 0 ? dim + whole.dim() + 1 : dim;
      return copies ? cresset::squeeze_copy(part, at) : part.squeeze(at);
    };
  }
  if (name == "squeeze") {
    std::vector<int64_t> dims;  // none: all
    if (!rest.empty()) dims = std::string_view(op.name) == "squeeze.dims" ? rest[0].to_int_list() : std::vector<int64_t>{rest[0].to_int()};
    return [copies, dims, all = rest.empty()](const Tensor& whole, Tensor part) {
      for (int64_t d = 0; d < whole.dim(); d++) {
        const bool named = all || std::any_of(dims.begin(), dims.end(), [&](int64_t dim) { return (dim < 0 ? dim + whole.dim() : dim) == d; });
        if (named && whole.size(d) == 1) part = copies ? cresset::unsqueeze_copy(part, d) : part.unsqueeze(d);
      }
      return part;
    };
  }
  if (name == "expand") return [copies](const Tensor& whole, const Tensor& part) { return with_sum_of_changes(whole, part, copies); };
  if (name == "unfold" && rest[2].to_int() >= rest[1].to_int()) {  // parts that overlap have no value of their own
    const int64_t dim = rest[0].to_int(), size = rest[1].to_int(), step = rest[2].to_int();
    return [dim, size, step](const Tensor& whole, const Tensor& part) { return autograd::rules::unfold_backward(part, whole.sizes(), dim, size, step); };
  }
  if (name == "view_as_complex") return [](const Tensor&, const Tensor& part) { return cresset::view_as_real(part); };
  if (name == "view_as_real") return [](const Tensor&, const Tensor& part) { return cresset::view_as_complex(part); };
  if (std::string_view(op.name) == "view.dtype") return [](const Tensor& whole, const Tensor& part) { return part.view(whole.scalar_type()); };
  if (std::string_view(op.name) != "view" && name != "_unsafe_view") return nullptr;
  return [copies](const Tensor& whole, const Tensor& part) {
    return copies && part.is_contiguous() ? cresset::view_copy(part, whole.sizes()) : part.reshape(whole.sizes());
  };
}

// One of several views as the view that it is alone: those of one operator cannot be changed while gradients are recorded.
FunctionalImpl::View single_view(const OpEntry& op, const Stack& arguments, const std::vector<Tensor>& all, size_t i) {
  const bool unbinds = op.function_schema().name == "unbind";
  const int64_t dim = arguments[unbinds ? 1 : 2].to_int(), at = static_cast<int64_t>(i);
  if (unbinds)
    return {[dim, at](const Tensor& t) { return t.select(dim, at); },
            [dim, at](const Tensor& whole, const Tensor& part) { return cresset::select_scatter(whole, part, dim, at); }};
  int64_t start = 0;
  for (size_t k = 0; k < i; k++) start += all[k].size(dim);
  const int64_t end = start + all[i].size(dim);
  return {[dim, start, end](const Tensor& t) { return t.narrow(dim, start, end - start); },
          [dim, start, end](const Tensor& whole, const Tensor& part) { return cresset::slice_scatter(whole, part, dim, start, end); }};
}

// The operator that gives a copy in place of a view: t_copy for t.
const OpEntry* copying(const OpEntry& op) {
  std::string name = op.name;
  name.insert(op.function_schema().name.size(), "_copy");
  const dispatch::OpHandle found = dispatch::find_op_or_null(name);
  return found ? &found.entry() : nullptr;
}

// The strides of a view of a tensor like `self`, which may stand for a copy.
std::vector<int64_t> strides_of_view(const OpEntry& op, const FunctionalImpl& self, const Stack& rest) {
  const dispatch::ListenScope quiet(dispatch::ListenPlace::below_autograd, nullptr);
  Stack stack{cresset::empty_strided(self.sizes(), self.strides(), TensorOptions(self.dtype()).device(kMeta))};
  stack.insert(stack.end(), rest.begin(), rest.end());
  dispatch::call_boxed(op, stack);
  return stack[0].to_tensor().strides().vec();
}

// Calls a view. Values have other strides than the program's tensors where these were written through transposed views: one that `view` cannot look at
// as it lies is copied first.
void call_view(const OpEntry& op, Stack& values) {
  if (std::string_view(op.name) != "view" || values[0].to_tensor().is_contiguous()) return dispatch::call_boxed(op, values);
  Stack given = values;
  try {
    dispatch::call_boxed(op, values);
  } catch (const Error&) {
    given[0] = given[0].to_tensor().contiguous();
    dispatch::call_boxed(op, given);
    values = std::move(given);
  }
}

Stack make_views(const OpEntry& op, const Stack& arguments) {
  FunctionalImpl& self = *as_functional(arguments[0].to_tensor());
  Stack values{self.last_value()};
  const Stack rest = unwrapped(Stack(arguments.begin() + 1, arguments.end()));
  values.insert(values.end(), rest.begin(), rest.end());
  const OpEntry* const copy = t_mode == kViewsAreCopies ? copying(op) : nullptr;
  const OpEntry& used = copy ? *copy : op;
  call_view(used, values);
  const auto by = [&rest](const OpEntry& entry, size_t i = 0) {
    return [&entry, rest, i](const Tensor& t) {
      Stack again{t};
      again.insert(again.end(), rest.begin(), rest.end());
      call_view(entry, again);
      return again[0].is_tensor() ? again[0].to_tensor() : again[0].to_tensor_list()[i];
    };
  };
  if (values[0].is_tensor()) {
    FunctionalImpl::View step(by(op), way_back(op, rest));
    step.look = by(used);
    const Tensor made = view_of(self, std::move(step), values[0].to_tensor(), copy != nullptr);
    if (copy) as_functional(made)->keep_strides(strides_of_view(op, self, rest));
    return {made};
  }
  const std::vector<Tensor> all = values[0].to_tensor_list();
  std::vector<Tensor> views;
  for (size_t i = 0; i < all.size(); i++) {
    FunctionalImpl::View step = single_view(op, arguments, all, i);
    step.look = by(used, i);
    views.push_back(view_of(self, std::move(step), all[i], copy != nullptr));
  }
  return {views};
}

// `narrow` is heard as the slice that it is.
Stack make_slice(const Stack& arguments) {
  static const OpEntry& slice = dispatch::find_op("slice.Tensor").entry();
  const Tensor self = arguments[0].to_tensor();
  const int64_t dim = arguments[1].to_int(), start = arguments[2].to_int(), length = arguments[3].to_int();
  const int64_t size = self.size(dim), from = start < 0 ? start + size : start;
  CRESSET_CHECK_INDEX(length >= 0 && from >= 0 && from + length <= size, "narrow: expected start and length within the size ", size, ", got ", start, " and ",
                      length);
  return make_views(slice, {self, dim, from, from + length, int64_t{1}});
}

// The operator of the same name that gives a new value from the same arguments, or null.
const OpEntry* functional_form(const OpEntry& op) {
  if (op.functional) return op.functional;
  std::string name = op.name;
  const std::string& base = op.function_schema().name;
  if (base.back() != '_') return nullptr;
  name.erase(base.size() - 1, 1);
  const dispatch::OpHandle found = dispatch::find_op_or_null(name);
  const bool fits = found && found.schema().arguments.size() == op.function_schema().arguments.size() && found.schema().returns.size() == 1;
  return fits ? &found.entry() : nullptr;
}

// `t` with the strides of `like`, which has its sizes; undefined where only a write into memory of that layout gives it.
Tensor laid_out(const Tensor& t, const Tensor& like) {
  if (t.strides() == like.strides()) return t;
  return like.is_contiguous() ? t.contiguous() : Tensor();
}

// A copy with the same strides, gaps included; dense for a tensor whose elements share memory.
Tensor copy_like(const Tensor& t) {
  Tensor copy = t.clone();
  const IntArrayRef strides = t.strides();
  if (copy.strides() == strides || std::find(strides.begin(), strides.end(), 0) != strides.end()) return copy;
  return cresset::empty_strided(t.sizes(), strides, t.options()).copy_(copy);
}

// In its scope a copy of a value of the same sizes and dtype is that value: the result of a call with `out=`, which nothing else has.
thread_local bool t_results_are_taken = false;
class ResultsAreTaken {
 public:
  ResultsAreTaken() : saved_(std::exchange(t_results_are_taken, true)) {}
  ~ResultsAreTaken() { t_results_are_taken = saved_; }
  ResultsAreTaken(const ResultsAreTaken&) = delete;
  ResultsAreTaken& operator=(const ResultsAreTaken&) = delete;

 private:
  const bool saved_;
};

// The first argument as the operator leaves it: by its functional form where the result is of the same size and may be cast to the dtype,
// else by the change of a copy, which raises the operator's own errors. `any_layout`: the value goes into another tensor, and may have any strides.
Tensor changed_value(const OpEntry& op, const Stack& arguments, bool any_layout) {
  Stack values = unwrapped(arguments);
  Tensor before = values[0].to_tensor();
  for (size_t i = 1; i < values.size(); i++) for_each_tensor(values[i], [&](const Tensor& t) { before = autograd::batched_as(before, t); });
  values[0] = before;
  const bool records = std::any_of(values.begin(), values.end(), [](const Value& v) { return v.is_tensor() && is_differentiated(v.to_tensor()); });
  // A view wakes autograd even where there is nothing to record, and composites would be taken apart there.
  const ExcludeLayers below(records ? 0 : layer_bit(Layer::Autograd));
  if (op.function_schema().name == "copy_") {
    const Tensor& source = values[1].to_tensor();
    if (t_results_are_taken && source.sizes() == before.sizes() && source.scalar_type() == before.scalar_type()) return source;
    if (!records && is_heard_plainly(before) && is_heard_plainly(source) && (any_layout || before.is_contiguous()))
      return dispatch::call(kCopy, dispatch::key_of(before, source), before, source, false);
    if (any_layout || before.is_contiguous()) return source.expand(before.sizes()).to(before.options()).clone(MemoryFormat::Contiguous);
    values[0] = copy_like(before);
    dispatch::call_boxed(op, values);
    return values[0].to_tensor();
  } else if (op.function_schema().name == "fill_" && !values[1].is_tensor() && (any_layout || before.is_contiguous())) {
    return cresset::fill(before, values[1].to_scalar());
  } else if (op.function_schema().name == "zero_" && (any_layout || before.is_non_overlapping_and_dense())) {
    if (!records && is_heard_plainly(before)) return dispatch::call(kZero, dispatch::key_of(before), before);
    return cresset::zeros_like(before);
  }
  if (const OpEntry* form = functional_form(op)) {
    Stack again = values;
    dispatch::call_boxed(*form, again);
    const Tensor& found = again[0].to_tensor();
    if (found.sizes() == before.sizes() && can_cast(found.scalar_type(), before.scalar_type())) {
      const Tensor cast = found.scalar_type() == before.scalar_type() ? found : found.to(before.scalar_type());
      // A graph has the value alone: its memory order is that of whoever reads it.
      const bool is_graph = !records && is_heard_plainly(before) && is_heard_plainly(cast);
      if (const Tensor made = any_layout || is_graph ? cast : laid_out(cast, before); made.defined()) return made;
    }
  }
  values[0] = any_layout ? before.clone() : copy_like(before);
  dispatch::call_boxed(op, values);
  return values[0].to_tensor();
}

// The base that has `value` where `self` is.
Tensor base_with(const FunctionalImpl& self, const Tensor& value) {
  const Tensor base = autograd::batched_as(self.base()->value, value);
  const auto& views = self.views();
  if (std::any_of(views.begin(), views.end(), [](const auto& view) { return !view.put; })) {
    const Tensor copy = base.clone();
    Tensor part = copy;
    for (const auto& step : views) part = step.view(part);
    part.copy_(value);
    return copy;
  }
  std::vector<Tensor> wholes = {base};
  for (size_t i = 0; i + 1 < views.size(); i++) wholes.push_back(views[i](wholes.back()));
  Tensor part = value;
  for (size_t i = views.size(); i-- > 0;) part = views[i].put(wholes[i], part);
  return part;
}

// Gradients of a tensor that was written with gradients off go where they went before.
class PassedByBackward final : public autograd::Node {
 public:
  std::string name() const override { return "PassedByBackward"; }

 protected:
  autograd::variable_list apply(autograd::variable_list&& grads) override { return std::move(grads); }
};

// A write with gradients off leaves the history of the tensor as it is.
Tensor with_history_of(const Tensor& before, Tensor value) {
  if (layer_state().grad_mode || !before.requires_grad() || value.requires_grad()) return value;
  const auto node = autograd::make_node<PassedByBackward>();
  autograd::set_next_edges(*node, before);
  autograd::set_history(value, node);
  return value;
}

void set_value(FunctionalImpl& self, const Tensor& value) {
  if (self.views().empty()) self.set_value(with_history_of(self.value(), value));
  else self.set_base(with_history_of(self.base()->value, base_with(self, value)));
}

void change(const OpEntry& op, const Stack& arguments, FunctionalImpl& self) { set_value(self, changed_value(op, arguments, !self.views().empty())); }

// The operator of the same name without its underscore.
const OpEntry& out_of_place(const OpEntry& op) {
  if (op.functional) return *op.functional;
  std::string name = op.name;
  name.erase(op.function_schema().name.size() - 1, 1);
  return dispatch::find_op(name).entry();
}

// A composite that whoever listens wants to hear whole, and that neither writes nor looks.
bool is_heard_whole(const OpEntry& op) {
  dispatch::Listener* const listener = dispatch::listener_at(dispatch::ListenPlace::below_autograd);
  if (!listener || !listener->hears(op, false)) return false;
  const dispatch::FunctionSchema& schema = op.function_schema();
  return std::none_of(schema.arguments.begin(), schema.arguments.end(), [](const auto& a) { return a.writes; }) &&
         std::none_of(schema.returns.begin(), schema.returns.end(), [](const auto& r) { return r.aliases; });
}

// A composite that writes its first argument, and whose form that writes nothing is heard whole.
bool becomes_whole(const OpEntry& op, const Stack& stack) {
  const dispatch::FunctionSchema& schema = op.function_schema();
  if (schema.arguments.empty() || !schema.arguments[0].writes) return false;
  const OpEntry* const form = functional_form(op);
  const Value& first = stack[stack.size() - schema.arguments.size()];
  return form && first.is_tensor() && as_functional(first.to_tensor()) && autograd::is_composite(*form) && is_heard_whole(*form);
}

// Tensors among which is no wrapper: what is made of them alone is none either, as in PyTorch.
bool holds_values_alone(const Stack& arguments) {
  bool found = false, wrapped = false;
  for (const Value& v : arguments)
    for_each_tensor(v, [&](const Tensor& t) {
      found = found || t.defined();
      wrapped = wrapped || as_functional(t);
    });
  return found && !wrapped;
}

void functionalize_layer(const OpEntry& op, Stack& stack) {
  const dispatch::FunctionSchema& schema = op.function_schema();
  if (autograd::is_composite(op) && !is_heard_whole(op) && !becomes_whole(op, stack)) return autograd::run_composite(op, stack);
  if ((op.flags & dispatch::kOutOp) && op.functional) {
    const ResultsAreTaken taken;
    return dispatch::derived_from_functional(op, stack);
  }
  const Stack arguments = autograd::take_arguments(stack, schema.arguments.size());
  Stack results;
  const Below below;
  if (holds_values_alone(arguments)) {
    Stack values = arguments;
    dispatch::call_boxed(op, values);
    for (Value& v : values) stack.push_back(std::move(v));
    return;
  }
  const bool writes = !arguments.empty() && schema.arguments[0].writes && arguments[0].is_tensor();
  FunctionalImpl* self = !arguments.empty() && arguments[0].is_tensor() ? as_functional(arguments[0].to_tensor()) : nullptr;
  if (writes && self) {
    if (op.flags & dispatch::kViewOp) {
      const Stack viewed = make_views(out_of_place(op), arguments);
      self->become(*as_functional(viewed[0].to_tensor()));
    } else {
      change(op, arguments, *self);
    }
    results = {arguments[0]};
  } else if (writes) {
    Stack values = unwrapped(arguments);
    dispatch::call_boxed(op, values);
    results = {arguments[0]};
  } else if ((op.flags & dispatch::kViewOp) && self) {
    results = std::string_view(op.name) == "narrow" ? make_slice(arguments) : make_views(op, arguments);
  } else {
    Stack values = unwrapped(arguments);
    dispatch::call_boxed(op, values);
    for (const Value& v : values) results.push_back(map_tensors(v, fresh));
  }
  for (Value& v : results) stack.push_back(std::move(v));
}

// Wrappers may be used outside of a scope, too.
void register_layer() {
  static const bool registered = (dispatch::set_layer_fallback(Layer::Functionalize, functionalize_layer), true);
  (void)registered;
}

}  // namespace

FunctionalScope::FunctionalScope(Remove remove) : saved_mode_(t_mode), saved_layers_(layer_state().included) {
  register_layer();
  t_mode = remove == Remove::MutationsAndViews ? kViewsAreCopies : 1;
  layer_state().included |= layer_bit(Layer::Functionalize);
}
FunctionalScope::~FunctionalScope() {
  t_mode = saved_mode_;
  layer_state().included = saved_layers_;
}

bool set_values_heard_above(bool on) { return std::exchange(t_values_heard_above, on); }
Tensor to_functional(const Tensor& t) {
  register_layer();
  return fresh(t);
}
Tensor from_functional(const Tensor& t) { return unwrapped(t); }
void set_functional(const Tensor& wrapper, const Tensor& value) {
  FunctionalImpl* f = as_functional(wrapper);
  CRESSET_CHECK_VALUE(f, "set_functional: expected a wrapper of functionalize, got ", wrapper);
  CRESSET_CHECK_VALUE(value.sizes() == f->value().sizes() && value.scalar_type() == f->value().scalar_type(), "set_functional: expected a value of shape ",
                      f->value().sizes(), " and dtype ", f->value().scalar_type(), ", got ", value);
  const Below below;
  set_value(*f, value);
}
bool is_changed(const Tensor& wrapper) {
  const FunctionalImpl* f = as_functional(wrapper);
  return f && f->base()->changes > 0;
}

Function functionalize(Function f, Remove remove) {
  return [f = std::move(f), remove](const Tensors& arguments) {
    Tensors wrappers, results;
    {
      const FunctionalScope scope(remove);
      for (size_t i = 0; i < arguments.size(); i++) {
        const auto same =
            std::find_if(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(i), [&](const Tensor& t) { return t.is_same(arguments[i]); });
        const size_t at = static_cast<size_t>(same - arguments.begin());
        wrappers.push_back(at < i ? wrappers[at] : to_functional(arguments[i]));
      }
      results = f(wrappers);
    }
    for (Tensor& t : results) {
      FunctionalImpl* wrapper = as_functional(t);
      const auto same = std::find_if(wrappers.begin(), wrappers.end(), [&](const Tensor& w) { return w.is_same(t); });
      // An argument that is returned is returned as it is.
      t = same != wrappers.end() ? arguments[static_cast<size_t>(same - wrappers.begin())] : wrapper ? wrapper->value() : t;
    }
    for (size_t i = 0; i < arguments.size(); i++)
      if (is_changed(wrappers[i])) Tensor(arguments[i]).copy_(from_functional(wrappers[i]));
    return results;
  };
}

}  // namespace cresset::func
