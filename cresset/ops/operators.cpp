// C++ operators of Tensor in terms of the ops.

#include "cresset/core/batched.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/functional.h"
#include "cresset/core/type_properties.h"
#include "cresset/dispatch/listen.h"
#include "cresset/ops/functions.h"

namespace cresset {

// A number on the left becomes a wrapped 0-d tensor, or the op that swaps its arguments. LibTorch's `1 - x` is recorded as a difference of
// tensors, where Python's is the op with swapped arguments; its `1 / x` is one division, where Python's multiplies by the reciprocal.
#define CRESSET_DEFINE_OPERATOR(op, name, left)                               \
  Tensor operator op(const Tensor& a, const Tensor& b) { return name(a, b); } \
  Tensor operator op(const Tensor& a, const Scalar& b) { return name(a, b); } \
  Tensor operator op(const Scalar& a, const Tensor& b) { return left; }
CRESSET_DEFINE_OPERATOR(+, add, add(b, a))
CRESSET_DEFINE_OPERATOR(-, sub, b.requires_grad() ? sub(wrapped_scalar_tensor(a, b.device()), b) : rsub(b, a))
CRESSET_DEFINE_OPERATOR(*, mul, mul(b, a))
CRESSET_DEFINE_OPERATOR(/, div, div(wrapped_scalar_tensor(a, b.device()), b))
CRESSET_DEFINE_OPERATOR(%, remainder, remainder(wrapped_scalar_tensor(a, b.device()), b))
CRESSET_DEFINE_OPERATOR(==, eq, eq(b, a))
CRESSET_DEFINE_OPERATOR(!=, ne, ne(b, a))
CRESSET_DEFINE_OPERATOR(<, lt, gt(b, a))
CRESSET_DEFINE_OPERATOR(<=, le, ge(b, a))
CRESSET_DEFINE_OPERATOR(>, gt, lt(b, a))
CRESSET_DEFINE_OPERATOR(>=, ge, le(b, a))
CRESSET_DEFINE_OPERATOR(&, bitwise_and, bitwise_and(b, a))
CRESSET_DEFINE_OPERATOR(|, bitwise_or, bitwise_or(b, a))
CRESSET_DEFINE_OPERATOR(^, bitwise_xor, bitwise_xor(b, a))
#undef CRESSET_DEFINE_OPERATOR

Tensor Tensor::operator~() const { return bitwise_not(); }
Tensor Tensor::operator-() const { return neg(); }
Tensor& Tensor::operator+=(const Tensor& o) { return add_(o); }
Tensor& Tensor::operator+=(const Scalar& o) { return add_(o); }
Tensor& Tensor::operator-=(const Tensor& o) { return sub_(o); }
Tensor& Tensor::operator-=(const Scalar& o) { return sub_(o); }
Tensor& Tensor::operator*=(const Tensor& o) { return mul_(o); }
Tensor& Tensor::operator*=(const Scalar& o) { return mul_(o); }
Tensor& Tensor::operator/=(const Tensor& o) { return div_(o); }
Tensor& Tensor::operator/=(const Scalar& o) { return div_(o); }
Tensor& Tensor::operator&=(const Tensor& o) { return bitwise_and_(o); }
Tensor& Tensor::operator|=(const Tensor& o) { return bitwise_or_(o); }
Tensor& Tensor::operator^=(const Tensor& o) { return bitwise_xor_(o); }

void Tensor::operator=(const Tensor& source) && { copy_(source); }
void Tensor::operator=(const Scalar& value) && { fill_(value); }

Tensor Tensor::cpu() const { return to(options().device(kCPU)); }
Tensor Tensor::cuda() const { return to(options().device(kCUDA)); }
Tensor Tensor::toType(ScalarType t) const { return to(t); }
Tensor Tensor::toBackend(Backend b) const {
  if (!defined() && b == Backend::Undefined) return *this;
  return to(options().device(backendToDeviceType(b)).layout(layout_from_backend(b)));
}

Tensor wrapped_scalar_tensor(const Scalar& value, Device device) {
  const FakeModeScope off(nullptr);
  const ExcludeLayers unheard(static_cast<uint8_t>(layer_bit(Layer::Capture) | layer_bit(Layer::Functionalize)));
  Tensor t = scalar_tensor(value, TensorOptions(value.type()).device(device.is_meta() ? device : Device(kCPU)));
  t.impl()->set_wrapped_number(true);
  return t;
}

namespace {

extern const dispatch::Op<Scalar(const Tensor&)> kItem;

// The number that stands for an element of the data, within composites that go on with it as with a size.
std::optional<Scalar> symbol_of(const Tensor& self) {
  SymbolicShapes* const shapes = self.has_storage() ? self.impl()->storage()->fake_mode()->shapes() : nullptr;
  dispatch::Stack stack{self};
  if (!shapes || !shapes->run_data_dependent(kItem, stack)) return std::nullopt;
  return stack[0].to_scalar();
}

Scalar plain_item(const Tensor& self) {
  if (CRESSET_UNLIKELY(is_fake(*self.impl()))) {
    const Tensor known(known_values(*self.impl()));
    if (!known.defined()) {
      if (const auto symbol = symbol_of(self)) return *symbol;
      throw DataDependentOutputError("aten._local_scalar_dense.default", "aten._local_scalar_dense.default: a fake tensor holds no data");
    }
    const FakeModeScope off(nullptr);
    return known.item();
  }
  CRESSET_CHECK(!self.is_meta(), "item: cannot be called on meta tensors, they hold no data");
  if (self.layout() != Layout::Strided) return self.to_dense().item();
  Tensor t = (self.is_cpu() ? self : self.cpu()).resolve_conj().resolve_neg();
  if (is_storage_type(t.scalar_type())) t = t.to(compute_type(t.scalar_type()));
  if (t.scalar_type() == kBool) return Scalar(*static_cast<const uint8_t*>(t.data_ptr()) != 0);  // of any byte
  switch (t.scalar_type()) {
#define CRESSET_ITEM(T, Name) \
  case ScalarType::Name: return Scalar(*static_cast<const T*>(t.data_ptr()));
    CRESSET_FOR_EACH_DTYPE(CRESSET_ITEM)
#undef CRESSET_ITEM
    default: break;
  }
  CRESSET_CHECK_NOT_IMPLEMENTED(false, "item: not implemented for dtype ", t.scalar_type());
}

// An entry for listeners to hear of item(), which is no row.
const dispatch::Op<Scalar(const Tensor&)> kItem("_local_scalar_dense", "_local_scalar_dense(Tensor self) -> Scalar", 0, nullptr, &plain_item, &plain_item,
                                                nullptr, nullptr);

}  // namespace

Scalar Tensor::item() const {
  if (FunctionalImpl* f = as_functional(*this)) return f->value().item();
  CRESSET_CHECK(!as_batched(*this), "vmap: item() cannot give one number for all elements of a batch; ", "compute with the tensor instead");
  CRESSET_CHECK(numel() == 1, "item: a tensor with ", numel(), " elements cannot be converted to a number, expected exactly one");
  if (CRESSET_UNLIKELY(dispatch::is_listening() || dispatch::is_subclass(*this)) && !(impl()->layers() & ~(kAutogradLayer | kLazyMathLayer))) {
    dispatch::Stack stack{*this};
    dispatch::call_boxed(kItem, stack);
    return stack.back().to_scalar();
  }
  return plain_item(*this);
}

}  // namespace cresset
