#include "cresset/ops/conv/mkldnn.h"

#include <iterator>
#include <set>

#include "cresset/core/hooks.h"
#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/registry.h"
#include "cresset/ops/conv/mkldnn_table.h"
#include "cresset/ops/functions.h"

namespace cresset {

namespace {

using dispatch::Kernel;
using dispatch::OpEntry;
using dispatch::Stack;
using dispatch::Value;

constexpr const char *kBackend = "MkldnnCPU", *kAutograd = "AutogradMkldnnCPU";

void take_geometry(TensorImpl& impl, IntArrayRef sizes) { impl.set_geometry(sizes, DimVector(sizes.size(), 0), 0); }

Tensor opaque(const Tensor& values) {
  auto parts = make_intrusive<OpaqueParts>();
  parts->values = Tensor(values.impl()->alias(true));
  auto impl = make_intrusive<TensorImpl>(intrusive_ptr<StorageImpl>(), values.scalar_type(), values.device(), Layout::Mkldnn);
  impl->set_own_version();
  take_geometry(*impl, values.sizes());
  impl->set_parts(std::move(parts));
  return Tensor(std::move(impl));
}

bool records(const Tensor& t) { return layer_state().grad_mode && t.defined() && t.requires_grad(); }

Tensor opened(const Tensor& self, std::optional<ScalarType> dtype) {
  return opaque_values(self).to(dtype.value_or(self.scalar_type()), /*non_blocking=*/false, /*copy=*/true);
}
Tensor closed(const Tensor& self, std::optional<ScalarType> dtype) {
  return opaque(self.to(dtype.value_or(self.scalar_type()), /*non_blocking=*/false, /*copy=*/true, MemoryFormat::Contiguous));
}

// The two conversions as ops, whose gradients are each other.
constexpr const char *kOpened = "_mkldnn::opened", *kClosed = "_mkldnn::closed";
Tensor converted(const char* op, const Tensor& self, std::optional<ScalarType> dtype) {
  return dispatch::find_op(op).typed<Tensor(const Tensor&, std::optional<ScalarType>)>().call(self, dtype);
}
// Of arguments (tensor, dtype), the result and its gradient.
void conversion_backward(const OpEntry&, Stack& stack) {
  const Tensor self = stack[0].to_tensor(), grad = stack.back().to_tensor();
  Tensor back = grad;
  if (grad.defined() && is_mkldnn(grad) != is_mkldnn(self)) back = converted(is_mkldnn(self) ? kClosed : kOpened, grad, self.scalar_type());
  stack = {Value(back)};
}

// The op on dense copies, which record what they do, and its results in the layout again.
void on_recorded_values(const OpEntry& op, Stack& stack) {
  const auto& arguments = op.function_schema().arguments;
  const size_t first = stack.size() - arguments.size();
  Stack inner;
  for (size_t i = 0; i < arguments.size(); i++) {
    const Value& v = stack[first + i];
    CRESSET_CHECK(!arguments[i].writes || !v.is_tensor() || !v.to_tensor().defined(), op.name,
                  ": writes to a tensor in the mkldnn layout are not recorded; use torch.no_grad(), or the form that returns a new tensor");
    if (v.is<Layout>()) inner.emplace_back(Layout::Strided);
    else inner.push_back(dispatch::map_tensors(v, [&](const Tensor& t) { return t.defined() && is_mkldnn(t) ? converted(kOpened, t, {}) : t; }));
  }
  stack.resize(first);
  dispatch::call_boxed(op, inner);
  for (const Value& result : inner) stack.push_back(dispatch::map_tensors(result, [](const Tensor& t) { return converted(kClosed, t, {}); }));
}

bool any_recorded(const OpEntry& op, const Stack& stack) {
  bool found = false;
  for (size_t i = stack.size() - op.function_schema().arguments.size(); i < stack.size(); i++)
    dispatch::for_each_tensor(stack[i], [&](const Tensor& t) { found = found || records(t); });
  return found;
}

// An op on tensors in the layout, as autograd sees it.
void at_autograd(const OpEntry& op, Stack& stack) {
  if (any_recorded(op, stack)) return on_recorded_values(op, stack);
  const ExcludeLayers below(kAutogradLayer);
  dispatch::call_boxed(op, stack);
}

}  // namespace

namespace ops::mkldnn {

void on_values(const OpEntry& op, Stack& stack) {
  if (op.flags & dispatch::kCompositeOp && any_recorded(op, stack)) return on_recorded_values(op, stack);
  const size_t n = op.function_schema().arguments.size();
  const Stack arguments(std::make_move_iterator(stack.end() - static_cast<int64_t>(n)), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - n);
  Stack inner;
  SmallVector<Tensor, 4> wrappers;
  for (const Value& v : arguments) {
    if (v.is<Layout>()) {
      inner.emplace_back(Layout::Strided);
      continue;
    }
    inner.push_back(dispatch::map_tensors(v, [&](const Tensor& t) {
      if (!t.defined() || !is_mkldnn(t)) return t;
      wrappers.push_back(t);
      return opaque_values(t);
    }));
  }
  {
    LayerState& state = layer_state();
    const bool before = state.grad_mode;
    state.set_grad_mode(false);
    struct Restore {
      LayerState& state;
      bool before;
      ~Restore() { state.set_grad_mode(before); }
    } restore{state, before};
    dispatch::call_boxed(op, inner);
  }
  for (const Value& result : inner) {
    stack.push_back(dispatch::map_tensors(result, [&](const Tensor& t) {
      for (const Tensor& wrapper : wrappers) {
        if (opaque_values(wrapper).impl() != t.impl()) continue;
        take_geometry(*wrapper.impl(), t.sizes());
        return wrapper;
      }
      return opaque(t.contiguous());
    }));
  }
}

namespace {
using Check = void (*)(const OpEntry&, const Stack&);

void check_pairs(const OpEntry& op, const Stack& stack) {
  const size_t n = op.function_schema().arguments.size();
  for (size_t i = stack.size() - n; i < stack.size(); i++)
    dispatch::for_each_tensor(stack[i], [&](const Tensor& t) {
      CRESSET_CHECK(is_mkldnn(t), op.name, ": expects tensors in the mkldnn layout, got one in layout ", layout_name(t.layout()), " of shape ", t.sizes());
    });
}
void check_input(const OpEntry& op, const Stack& stack) {
  const Tensor& input = stack[stack.size() - op.function_schema().arguments.size()].to_tensor();
  CRESSET_CHECK(is_mkldnn(input), op.name, ": a weight in the mkldnn layout wants an input in it, got layout ", layout_name(input.layout()));
}
}  // namespace

void on_pairs(const OpEntry& op, Stack& stack) {
  check_pairs(op, stack);
  on_values(op, stack);
}
void on_input(const OpEntry& op, Stack& stack) {
  check_input(op, stack);
  on_values(op, stack);
}

void batch_norm(const OpEntry& op, Stack& stack) {
  const size_t first = stack.size() - op.function_schema().arguments.size();
  const auto given = [&](size_t i) { return stack[first + i].is_tensor() && stack[first + i].to_tensor().defined(); };
  CRESSET_CHECK(given(1) && given(2), "batch_norm: the mkldnn layout supports affine models only, with weight and bias");
  on_input(op, stack);
}

void to_dense(const OpEntry& op, Stack& stack) {
  const size_t first = stack.size() - op.function_schema().arguments.size();
  const Tensor self = stack[first].to_tensor();
  const std::optional<ScalarType> dtype = stack[first + 1].is_none() ? std::nullopt : std::optional(stack[first + 1].to_dtype());
  stack.resize(first);
  stack.emplace_back(records(self) ? converted(kOpened, self, dtype) : opened(self, dtype));
}

void refuse_view(const OpEntry&, Stack&) {
  CRESSET_CHECK(false, "view: tensors in the mkldnn layout have no views; use reshape");
  __builtin_unreachable();
}

}  // namespace ops::mkldnn

namespace {

[[noreturn]] void refuse(const OpEntry& op, Stack&) {
  CRESSET_CHECK_NOT_IMPLEMENTED(false, "Could not run 'aten::", op.name, "' with arguments from the '", kBackend, "' backend; use to_dense() first");
  __builtin_unreachable();
}

void register_gradients() {
  auto& conversions = *new dispatch::Library(dispatch::Library::definitions, "_mkldnn", "", __FILE__, __LINE__);
  conversions.def("opened(Tensor self, ScalarType? dtype=None) -> Tensor").def("closed(Tensor self, ScalarType? dtype=None) -> Tensor");
  auto& of_opaque = *new dispatch::Library(dispatch::Library::implementations, "_mkldnn", kBackend, __FILE__, __LINE__);
  of_opaque.impl("opened", &opened);
  auto& of_dense = *new dispatch::Library(dispatch::Library::implementations, "_mkldnn", "CPU", __FILE__, __LINE__);
  of_dense.impl("closed", &closed);
  auto& gradients = *new dispatch::Library(dispatch::Library::implementations, "_mkldnn", "Autograd", __FILE__, __LINE__);
  for (const char* op : {"opened", "closed"}) gradients.impl(op, dispatch::autograd_with_formula(&conversion_backward));
  auto& seen = *new dispatch::Library(dispatch::Library::implementations, "aten", kAutograd, __FILE__, __LINE__);
  for (size_t i = 0; i < ops::mkldnn::kNumRows; i++) {
    const auto& [op, kernel] = ops::mkldnn::kRows[i];
    if (!kernel || op->flags & dispatch::kCompositeOp) continue;
    const ops::mkldnn::Check check = kernel == ops::mkldnn::on_pairs   ? ops::mkldnn::check_pairs
                                     : kernel == ops::mkldnn::on_input ? ops::mkldnn::check_input
                                                                       : nullptr;
    seen.impl(op->name, dispatch::BoxedFn([check](const OpEntry& called, Stack& stack) {
                if (check) check(called, stack);
                at_autograd(called, stack);
              }));
  }
}

void register_kernels() {
  dispatch::register_backend(kBackend, "cpu", Layout::Mkldnn);
  auto& library = *new dispatch::Library(dispatch::Library::implementations, "aten", kBackend, __FILE__, __LINE__);
  std::set<const OpEntry*> known;
  for (size_t i = 0; i < ops::mkldnn::kNumRows; i++) {
    const auto& [op, kernel] = ops::mkldnn::kRows[i];
    if (kernel) library.impl(op->name, kernel);
    known.insert(op);
  }
  // Views are geometry, which opaque values do not have.
  for (size_t i = 0; i < dispatch::kNumBuiltinOps; i++) {
    const OpEntry& op = *dispatch::kBuiltinOps[i];
    if ((op.flags & (dispatch::kViewOp | dispatch::kAnyDeviceOp)) && !known.count(&op)) library.impl(op.name, &refuse);
  }
  library.fallback(&refuse);
  register_gradients();
}

}  // namespace

Tensor to_mkldnn(const Tensor& self, std::optional<ScalarType> dtype) {
  static const bool registered = (register_kernels(), true);
  static_cast<void>(registered);
  const ScalarType t = self.scalar_type();
  CRESSET_CHECK_NOT_IMPLEMENTED(self.layout() == Layout::Strided && self.device().is_cpu(), "Could not run 'aten::to_mkldnn' with a tensor of layout ",
                                layout_name(self.layout()), " on ", self.device());
  CRESSET_CHECK(t == kFloat || t == kBFloat16 || t == kHalf || t == kByte || t == kChar,
                "to_mkldnn: expects a float32, bfloat16, float16, uint8 or int8 tensor, got ", t);
  CRESSET_CHECK(self.dim() > 0, "to_mkldnn: expects a tensor with dimensions, got a number");
  return records(self) ? converted(kClosed, self, dtype) : closed(self, dtype);
}

}  // namespace cresset
