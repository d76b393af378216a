// The layer of functionalize: operators on wrappers run on values; what changes a tensor gives it another value.

#include "cresset/transform/functionalize.h"

#include <algorithm>

#include "cresset/autograd/batched.h"
#include "cresset/autograd/forward/forward_layer.h"
#include "cresset/core/functional.h"
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

// Calls go below this layer, and through the layers above it again: values may be batched.
class Below {
 public:
  Below() : hidden_(layer_state().hidden) {
    layer_state().set_hidden(static_cast<uint8_t>((hidden_ | layer_bit(Layer::Functionalize)) & ~layer_bit(Layer::Vmap)));
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

Tensor replayed(const std::vector<FunctionalImpl::View>& views, Tensor t) {
  for (const auto& view : views) t = view(t);
  return t;
}

Tensor view_of(const FunctionalImpl& self, FunctionalImpl::View step, const Tensor& value) {
  std::vector<FunctionalImpl::View> views = self.views();
  views.push_back(std::move(step));
  return Tensor(make_intrusive<FunctionalImpl>(self.base(), std::move(views), t_mode == kViewsAreCopies ? value.clone() : value));
}

// One of several views as the view that it is alone: those of one operator cannot be changed while gradients are recorded.
FunctionalImpl::View single_view(const OpEntry& op, const Stack& arguments, const std::vector<Tensor>& all, size_t i) {
  const std::string name = op.function_schema().name;
  const bool unbinds = name == "unbind";
  const int64_t dim = arguments[unbinds ? 1 : 2].to_int(), at = static_cast<int64_t>(i);
  if (unbinds) return [dim, at](const Tensor& t) { return t.select(dim, at); };
  int64_t start = 0;
  for (size_t k = 0; k < i; k++) start += all[k].size(dim);
  return [dim, start, length = all[i].size(dim)](const Tensor& t) { return t.narrow(dim, start, length); };
}

Stack make_views(const OpEntry& op, const Stack& arguments) {
  FunctionalImpl& self = *as_functional(arguments[0].to_tensor());
  Stack values = unwrapped(arguments);
  const Stack rest(values.begin() + 1, values.end());
  dispatch::call_boxed(op, values);
  if (values[0].is_tensor()) {
    const auto step = [&op, rest](const Tensor& t) {
      Stack again{t};
      again.insert(again.end(), rest.begin(), rest.end());
      dispatch::call_boxed(op, again);
      return again[0].to_tensor();
    };
    return {view_of(self, step, values[0].to_tensor())};
  }
  const std::vector<Tensor> all = values[0].to_tensor_list();
  std::vector<Tensor> views;
  for (size_t i = 0; i < all.size(); i++) views.push_back(view_of(self, single_view(op, arguments, all, i), all[i]));
  return {views};
}

// The value of `self` after the change, which goes to memory that nothing else has seen.
Tensor changed_value(const OpEntry& op, const Stack& arguments) {
  Stack values = unwrapped(arguments);
  Tensor copy = values[0].to_tensor();
  for (size_t i = 1; i < values.size(); i++) for_each_tensor(values[i], [&](const Tensor& t) { copy = autograd::batched_as(copy, t); });
  values[0] = copy.clone();
  dispatch::call_boxed(op, values);
  return values[0].to_tensor();
}

void change(const OpEntry& op, const Stack& arguments, FunctionalImpl& self) {
  const Tensor value = changed_value(op, arguments);
  if (self.views().empty()) return self.set_value(value);
  const Tensor base = autograd::batched_as(self.base()->value, value).clone();
  replayed(self.views(), base).copy_(value);
  self.set_base(base);
}

// The operator of the same name without its underscore.
const OpEntry& out_of_place(const OpEntry& op) {
  if (op.functional) return *op.functional;
  std::string name = op.name;
  name.erase(op.function_schema().name.size() - 1, 1);
  return dispatch::find_op(name).entry();
}

void functionalize_layer(const OpEntry& op, Stack& stack) {
  const dispatch::FunctionSchema& schema = op.function_schema();
  if (autograd::is_composite(op)) return autograd::run_composite(op, stack);
  if ((op.flags & dispatch::kOutOp) && op.functional) return dispatch::derived_from_functional(op, stack);
  const Stack arguments = autograd::take_arguments(stack, schema.arguments.size());
  Stack results;
  const Below below;
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
    results = make_views(op, arguments);
  } else {
    Stack values = unwrapped(arguments);
    dispatch::call_boxed(op, values);
    for (const Value& v : values) results.push_back(map_tensors(v, fresh));
  }
  for (Value& v : results) stack.push_back(std::move(v));
}

}  // namespace

FunctionalScope::FunctionalScope(Remove remove) : saved_mode_(t_mode), saved_layers_(layer_state().included) {
  static const bool registered = (dispatch::set_layer_fallback(Layer::Functionalize, functionalize_layer), true);
  (void)registered;
  t_mode = remove == Remove::MutationsAndViews ? kViewsAreCopies : 1;
  layer_state().included |= layer_bit(Layer::Functionalize);
}
FunctionalScope::~FunctionalScope() {
  t_mode = saved_mode_;
  layer_state().included = saved_layers_;
}

Tensor to_functional(const Tensor& t) { return fresh(t); }
Tensor from_functional(const Tensor& t) { return unwrapped(t); }
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
