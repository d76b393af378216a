#pragma once
// Numbers that are symbols: `torch.SymInt`, `SymFloat` and `SymBool`, which the package names once symbolic shapes are in use.

#include "cresset/core/fake_mode.h"
#include "python/bind/bind.h"

namespace cresset::python {

extern PyTypeObject *sym_int_type, *sym_float_type, *sym_bool_type;
inline bool is_symbol(PyObject* o) {
  const PyTypeObject* type = Py_TYPE(o);
  return CRESSET_UNLIKELY(type == sym_int_type || type == sym_float_type || type == sym_bool_type);
}
// The number that stands for it in the sizes of fake tensors; its number in the example, with a guard, within SymbolsAsNumbers.
Ref symbol_number(PyObject* symbol);
// Whether symbol_number was asked since the last question.
bool symbols_read();

class SymbolsAsNumbers {
 public:
  SymbolsAsNumbers();
  ~SymbolsAsNumbers();

 private:
  const bool before_;
};

// A truth value of the data has no number that stands for it: within this scope one that becomes a Scalar is kept beside it.
class KeptTruth {
 public:
  KeptTruth();
  ~KeptTruth();
  static bool keep(PyObject* symbol);  // false outside of such a scope, and for other symbols
  Ref symbol;

 private:
  KeptTruth* const before_;
};

// Whether the tensor itself is a fake one whose sizes may be symbols.
inline bool has_symbols(const Tensor& t) {
  if (CRESSET_LIKELY(t.impl()->backend() != kFakeBackend)) return false;
  const FakeMode* const mode = mode_of_fake(*t.impl());
  return mode && mode->shapes();
}
// The symbols of the sizes of a tensor, or of the value that vmap or functionalize wraps; null where sizes are numbers.
SymbolicShapes* shapes_of(const Tensor& t);
inline bool has_symbolic_sizes(const Tensor& t) {
  constexpr uint8_t kWrappers = layer_bit(Layer::Vmap) | layer_bit(Layer::Functionalize);
  return CRESSET_UNLIKELY(t.impl()->layers() & kWrappers) ? shapes_of(t) != nullptr : has_symbols(t);
}
// A size, stride or number of elements of such a tensor: an int or a SymInt.
PyObject* wrap_symbol(const Tensor& t, int64_t value);
PyObject* wrap_symbol(const Tensor& t, const Scalar& value);
// The result of item() for such a tensor: a symbol without a hint.
PyObject* symbol_item(const Tensor& t);
PyObject* wrap_symbols(const Tensor& t, IntArrayRef values, bool size);

}  // namespace cresset::python
