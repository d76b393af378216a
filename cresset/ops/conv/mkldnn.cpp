#include "cresset/ops/conv/mkldnn.h"

#include <iterator>
#include <set>

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

constexpr const char* kBackend = "MkldnnCPU";

// Stand-in for a storage.
struct OpaqueParts : RefCounted {
  Tensor values;

 protected:
  void release_resources() override { values.reset(); }
};

const Tensor& values_of(const Tensor& t) { return static_cast<const OpaqueParts&>(*t.impl()->parts()).values; }

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

}  // namespace

namespace ops::mkldnn {

void on_values(const OpEntry& op, Stack& stack) {
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
      const bool recorded = layer_state().grad_mode && t.defined() && t.requires_grad();
      CRESSET_CHECK(!recorded || !(op.flags & dispatch::kCompositeOp), op.name,
                    ": the mkldnn layout is for inference, its gradients are not recorded; use torch.no_grad()");
      if (!t.defined() || !is_mkldnn(t)) return t;
      wrappers.push_back(t);
      return values_of(t);
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
        if (values_of(wrapper).impl() != t.impl()) continue;
        take_geometry(*wrapper.impl(), t.sizes());
        return wrapper;
      }
      return opaque(t.contiguous());
    }));
  }
}

void on_pairs(const OpEntry& op, Stack& stack) {
  const size_t n = op.function_schema().arguments.size();
  for (size_t i = stack.size() - n; i < stack.size(); i++)
    dispatch::for_each_tensor(stack[i], [&](const Tensor& t) {
      CRESSET_CHECK(is_mkldnn(t), op.name, ": expects tensors in the mkldnn layout, got one in layout ", layout_name(t.layout()), " of shape ", t.sizes());
    });
  on_values(op, stack);
}

void on_input(const OpEntry& op, Stack& stack) {
  const Tensor& input = stack[stack.size() - op.function_schema().arguments.size()].to_tensor();
  CRESSET_CHECK(is_mkldnn(input), op.name, ": a weight in the mkldnn layout wants an input in it, got layout ", layout_name(input.layout()));
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
  const ScalarType dtype = stack[first + 1].is_none() ? self.scalar_type() : stack[first + 1].to_dtype();
  stack.resize(first);
  stack.emplace_back(values_of(self).to(dtype, /*non_blocking=*/false, /*copy=*/true));
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
  CRESSET_CHECK(!layer_state().grad_mode || !self.requires_grad(),
                "to_mkldnn: the mkldnn layout is for inference, its gradients are not recorded; use torch.no_grad() or detach()");
  return opaque(self.to(dtype.value_or(t), /*non_blocking=*/false, /*copy=*/true, MemoryFormat::Contiguous));
}

}  // namespace cresset
