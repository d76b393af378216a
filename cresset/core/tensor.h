#pragma once
// Tensor: one pointer to a TensorImpl. Operators are declared by the op rows; what is written here inspects, shares and differentiates.

#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/base/scalar.h"
#include "cresset/base/sym_int.h"
#include "cresset/core/optional_array_ref.h"
#include "cresset/core/random/generator.h"
#include "cresset/core/tensor_impl.h"
#include "cresset/core/tensor_options.h"

namespace cresset {

class Tensor;
using TensorList = ArrayRef<Tensor>;
namespace autograd {
struct Node;
}
namespace indexing {
struct TensorIndex;
}
// Each in a header of its own below this one.
class DispatchKeySet;
class DeprecatedTypeProperties;
class Dimname;
template <class T> class MaybeOwned;
template <class T, size_t N, class Index> class PackedTensorAccessor;

class CRESSET_API Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  explicit Tensor(intrusive_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  // Assignment to a temporary writes through it: `x[0] = y` copies y into the row.
  void operator=(const Tensor& source) &&;
  void operator=(const Scalar& value) &&;

  bool defined() const { return impl_.defined(); }
  void reset() { impl_.reset(); }
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }
  uint32_t use_count() const { return impl_.use_count(); }
  uint32_t weak_use_count() const { return impl_.weak_use_count(); }
  TensorImpl* impl() const { return impl_.get(); }
  // Errors: the tensor is undefined.
  TensorImpl& checked() const {
    if (CRESSET_UNLIKELY(!impl_)) throw_undefined();
    return *impl_;
  }
  TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }
  const intrusive_ptr<TensorImpl>& getIntrusivePtr() const { return impl_; }
  intrusive_ptr<TensorImpl> take() && { return std::move(impl_); }
  TensorImpl* unsafeReleaseTensorImpl() { return impl_.release(); }
  intrusive_ptr<TensorImpl> unsafeReleaseIntrusivePtr() { return std::move(impl_); }
  static Tensor wrap_tensor_impl(intrusive_ptr<TensorImpl> impl) { return Tensor(std::move(impl)); }

  // Geometry. All raise for an undefined tensor.
  int64_t dim() const { return checked().dim(); }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return checked().sizes(); }
  IntArrayRef strides() const { return checked().strides(); }
  int64_t size(int64_t dim) const { return sizes()[wrap(dim)]; }
  int64_t stride(int64_t dim) const { return strides()[wrap(dim)]; }
  int64_t numel() const { return checked().numel(); }
  int64_t storage_offset() const { return checked().storage_offset(); }
  bool is_same_size(const Tensor& o) const { return sizes() == o.sizes(); }
  SymIntArrayRef sym_sizes() const { return fromIntArrayRefUnchecked(sizes()); }
  SymIntArrayRef sym_strides() const { return fromIntArrayRefUnchecked(strides()); }
  SymInt sym_size(int64_t dim) const { return size(dim); }
  SymInt sym_stride(int64_t dim) const { return stride(dim); }
  SymInt sym_numel() const { return numel(); }
  SymInt sym_storage_offset() const { return storage_offset(); }
  // LibTorch's names of operators for sizes that may be symbols there.
  Tensor view_symint(SymIntArrayRef size) const { return view(asIntArrayRefUnchecked(size)); }
  Tensor reshape_symint(SymIntArrayRef shape) const { return reshape(asIntArrayRefUnchecked(shape)); }
  Tensor expand_symint(SymIntArrayRef size, bool implicit = false) const { return expand(asIntArrayRefUnchecked(size), implicit); }
  Tensor repeat_symint(SymIntArrayRef repeats) const { return repeat(asIntArrayRefUnchecked(repeats)); }
  Tensor sum_to_size_symint(SymIntArrayRef size) const { return sum_to_size(asIntArrayRefUnchecked(size)); }
  Tensor narrow_symint(int64_t dim, SymInt start, SymInt length) const { return narrow(dim, int64_t{start}, length); }
  Tensor select_symint(int64_t dim, SymInt index) const { return select(dim, index); }
  Tensor slice_symint(int64_t dim = 0, SymInt start = 0, SymInt end = INT64_MAX, SymInt step = 1) const {
    return slice(dim, int64_t{start}, int64_t{end}, step);
  }
  Tensor as_strided_symint(SymIntArrayRef size, SymIntArrayRef stride) const {
    return as_strided(asIntArrayRefUnchecked(size), asIntArrayRefUnchecked(stride));
  }
  Tensor as_strided_symint(SymIntArrayRef size, SymIntArrayRef stride, SymInt offset) const {
    return as_strided(asIntArrayRefUnchecked(size), asIntArrayRefUnchecked(stride), int64_t{offset});
  }
  Tensor new_empty_symint(SymIntArrayRef size, const TensorOptions& o = {}) const { return new_empty(asIntArrayRefUnchecked(size), o); }
  Tensor new_zeros_symint(SymIntArrayRef size, const TensorOptions& o = {}) const { return new_zeros(asIntArrayRefUnchecked(size), o); }
  Tensor new_ones_symint(SymIntArrayRef size, const TensorOptions& o = {}) const { return new_ones(asIntArrayRefUnchecked(size), o); }
  Tensor new_full_symint(SymIntArrayRef size, const Scalar& value, const TensorOptions& o = {}) const {
    return new_full(asIntArrayRefUnchecked(size), value, o);
  }
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const { return checked().is_contiguous(format); }
  bool is_non_overlapping_and_dense() const { return checked().is_non_overlapping_and_dense(); }
  MemoryFormat suggest_memory_format() const;
  size_t element_size() const { return cresset::element_size(scalar_type()); }
  int64_t itemsize() const { return static_cast<int64_t>(element_size()); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }

  // Kind.
  ScalarType scalar_type() const { return checked().dtype(); }
  TypeMeta dtype() const { return TypeMeta::fromScalarType(scalar_type()); }
  Device device() const { return checked().device(); }
  Layout layout() const { return checked().layout(); }
  int64_t get_device() const { return device().index(); }
  TensorOptions options() const { return TensorOptions().dtype(scalar_type()).device(device()).layout(layout()); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  // Fake and meta tensors, which have a shape and no memory.
  bool lacks_data() const {
    const uint8_t b = checked().backend();
    return b == kMetaBackend || b == kFakeBackend;
  }
  bool is_sparse() const { return layout() == Layout::Sparse; }
  bool is_sparse_csr() const { return layout() == Layout::SparseCsr; }
  bool is_floating_point() const { return is_floating_type(scalar_type()); }
  bool is_complex() const { return is_complex_type(scalar_type()); }
  bool is_signed() const { return is_signed_type(scalar_type()); }
  bool is_inference() const { return checked().is_inference(); }
  bool is_conj() const { return checked().is_conj(); }
  bool is_neg() const { return checked().is_neg(); }
  bool is_mkldnn() const { return layout() == Layout::Mkldnn; }
  bool is_xpu() const { return device().is_xpu(); }
  bool is_mps() const { return device().is_mps(); }
  bool is_hip() const { return device().is_hip(); }
  bool is_xla() const { return device().is_xla(); }
  bool is_privateuseone() const { return device().is_privateuseone(); }
  // Memory locked for copies to an accelerator, quantised and nested tensors: none is built in.
  bool is_pinned(std::optional<Device> = std::nullopt) const { return false; }
  bool is_quantized() const { return false; }
  bool is_nested() const { return false; }
  bool has_names() const { return false; }
  bool is_cuda_or_xpu() const { return is_cuda() || is_xpu(); }
  // The dispatch keys of PyTorch that the tensor would wake; cresset/core/dispatch_key_set.h.
  DispatchKeySet key_set() const;
  // Dtype and backend together; cresset/core/type_properties.h.
  DeprecatedTypeProperties& type() const;

  // Memory.
  Storage storage() const { return Storage(checked().storage()); }
  bool has_storage() const { return defined() && impl_->has_storage(); }
  bool is_alias_of(const Tensor& o) const { return checked().storage() == o.checked().storage(); }
  void* data_ptr() const { return checked().data(); }
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  // Errors: T is not the tensor's dtype.
  template <class T> T* data_ptr() const {
    check_dtype(dtype_of<std::remove_const_t<T>>);
    return static_cast<T*>(data_ptr());
  }
  template <class T> const T* const_data_ptr() const { return data_ptr<T>(); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  // Element access for loops in user code. Errors: wrong dtype or number of dimensions, not on the CPU.
  template <class T, size_t N> class Accessor;
  template <class T, size_t N> Accessor<T, N> accessor() const {
    check_accessor(dtype_of<T>, N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }

  // The same in an object that keeps sizes and strides itself; cresset/core/packed_accessor.h.
  template <class T, size_t N, template <class> class Pointer> PackedTensorAccessor<T, N, int64_t> packed_accessor64() const;
  template <class T, size_t N, template <class> class Pointer> PackedTensorAccessor<T, N, int32_t> packed_accessor32() const;
  template <class T, size_t N> PackedTensorAccessor<T, N, int64_t> packed_accessor64() const;
  template <class T, size_t N> PackedTensorAccessor<T, N, int32_t> packed_accessor32() const;

  // The one element as a number. Errors: more or fewer than one element; T cannot hold it.
  Scalar item() const;
  template <class T> T item() const { return item().to<T>(); }

  // Copies and casts that are spelled as methods in LibTorch.
  Tensor cpu() const;
  Tensor cuda() const;
  Tensor toType(ScalarType t) const;
  Tensor toBackend(Backend b) const;
  // Raises: dimensions of tensors have no names.
  [[noreturn]] Tensor refine_names(ArrayRef<Dimname> names) const;
  // f(*this, ...), for ops that are no methods.
  template <class F, class... A> decltype(auto) m(F f, A&&... rest) const { return f(*this, std::forward<A>(rest)...); }
  Tensor operator[](int64_t index) const;
  Tensor operator[](const Tensor& index) const;
  Tensor operator[](const Scalar& index) const;
  // Integers, slices, None, Ellipsis, booleans and tensors, as in Python: see cresset/ops/index/indexing.h.
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value);
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value);

  // The tensor looks at other memory from now on: at nothing, at a storage, at the memory of a tensor.
  // Errors: another dtype or device; sizes that do not fit the storage.
  Tensor& set_();
  Tensor& set_(const Storage& source);
  Tensor& set_(const Storage& source, int64_t offset, IntArrayRef size, IntArrayRef stride = {});
  Tensor& set_(const Tensor& source);
  Tensor& set_(const Tensor& source, int64_t offset, IntArrayRef size, IntArrayRef stride = {});
  bool is_set_to(const Tensor& o) const {
    return has_storage() && o.has_storage() && is_alias_of(o) && storage_offset() == o.storage_offset() && sizes() == o.sizes() && strides() == o.strides();
  }
  // The contiguous tensor, without a reference of its own where that is this one; cresset/core/maybe_owned.h.
  MaybeOwned<Tensor> expect_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const&;
  MaybeOwned<Tensor> expect_contiguous(MemoryFormat format = MemoryFormat::Contiguous) && = delete;

  Tensor operator~() const;
  Tensor operator-() const;
  Tensor& operator+=(const Tensor& o);
  Tensor& operator+=(const Scalar& o);
  Tensor& operator-=(const Tensor& o);
  Tensor& operator-=(const Scalar& o);
  Tensor& operator*=(const Tensor& o);
  Tensor& operator*=(const Scalar& o);
  Tensor& operator/=(const Tensor& o);
  Tensor& operator/=(const Scalar& o);
  Tensor& operator&=(const Tensor& o);
  Tensor& operator|=(const Tensor& o);
  Tensor& operator^=(const Tensor& o);

  // Differentiation; the rules are those of the autograd room.
  bool requires_grad() const;
  const Tensor& requires_grad_(bool requires_grad = true) const;
  const Tensor& set_requires_grad(bool requires_grad) const { return requires_grad_(requires_grad); }
  bool is_leaf() const;
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  const intrusive_ptr<autograd::Node>& grad_fn() const;
  int64_t output_nr() const;
  // Accumulates d(self)/d(leaf) into every leaf's grad. `gradient` may be left out for a tensor with one element.
  // Errors: nothing requires grad; no gradient for several elements; a graph freed by an earlier call.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                std::optional<TensorList> inputs = std::nullopt) const;
  Tensor detach() const;
  Tensor& detach_();
  void retain_grad() const;
  bool retains_grad() const;
  // The hook sees the gradient and may return another one. Returns the position for remove_hook.
  unsigned register_hook_function(std::function<Tensor(const Tensor&)> hook) const;
  template <class Hook> unsigned register_hook(Hook&& hook) const;
  void remove_hook(unsigned position) const;
  int64_t _version() const { return checked().version(); }
  bool is_view() const;
  const Tensor& _base() const;
  // Same data, own version counter, no history: `tensor.data` in Python.
  Tensor data() const { return variable_data(); }
  Tensor variable_data() const;
  Tensor tensor_data() const;
  void set_data(const Tensor& other) const;
  const std::string& name() const;

  // Of what kind it is: "CPUFloatType". The elements are what `<<` writes.
  std::string toString() const;
  void print() const;

#include "cresset/ops/tensor_methods.inc"
  // A template, as not every unit of the library sees the other forms.
  template <class T, class = std::enable_if_t<std::is_same<T, TypeMeta>::value>>
  Tensor to(T dtype, bool non_blocking = false, bool copy = false, std::optional<MemoryFormat> memory_format = {}) const {
    return to(dtype.toScalarType(), non_blocking, copy, memory_format);
  }

  // x.var(0) names a dimension, where var(bool unbiased) would take the number for a flag.
  Tensor var(int dim) const;
  Tensor var(int64_t dim) const;
  Tensor std(int dim) const;
  Tensor std(int64_t dim) const;

 private:
  size_t wrap(int64_t d) const {
    const int64_t n = dim();
    if (CRESSET_UNLIKELY(d < -n || d >= n)) throw_dim(d);
    return static_cast<size_t>(d < 0 ? d + n : d);
  }
  [[noreturn]] void throw_undefined() const;
  [[noreturn]] void throw_dim(int64_t d) const;
  void check_dtype(ScalarType wanted) const;
  void check_accessor(ScalarType wanted, size_t dims) const;

  intrusive_ptr<TensorImpl> impl_;
};

template <class T, size_t N> class Tensor::Accessor {
 public:
  Accessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data), sizes_(sizes), strides_(strides) {}
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1) return (data_[i * strides_[0]]);
    else return Accessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }
  int64_t size(int64_t d) const { return sizes_[d]; }
  int64_t stride(int64_t d) const { return strides_[d]; }
  IntArrayRef sizes() const { return IntArrayRef(sizes_, N); }
  IntArrayRef strides() const { return IntArrayRef(strides_, N); }
  T* data() const { return data_; }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};
template <class T, size_t N> using TensorAccessor = Tensor::Accessor<T, N>;

template <class Hook> unsigned Tensor::register_hook(Hook&& hook) const {
  if constexpr (std::is_void<decltype(hook(std::declval<Tensor>()))>::value)
    return register_hook_function([f = std::forward<Hook>(hook)](const Tensor& g) mutable {
      f(g);
      return Tensor();
    });
  else return register_hook_function(std::forward<Hook>(hook));
}

#define CRESSET_DECLARE_OPERATOR(op)                                \
  CRESSET_API Tensor operator op(const Tensor& a, const Tensor& b); \
  CRESSET_API Tensor operator op(const Tensor& a, const Scalar& b); \
  CRESSET_API Tensor operator op(const Scalar& a, const Tensor& b);
CRESSET_DECLARE_OPERATOR(+)
CRESSET_DECLARE_OPERATOR(-)
CRESSET_DECLARE_OPERATOR(*)
CRESSET_DECLARE_OPERATOR(/)
CRESSET_DECLARE_OPERATOR(%)
CRESSET_DECLARE_OPERATOR(==)
CRESSET_DECLARE_OPERATOR(!=)
CRESSET_DECLARE_OPERATOR(<)
CRESSET_DECLARE_OPERATOR(<=)
CRESSET_DECLARE_OPERATOR(>)
CRESSET_DECLARE_OPERATOR(>=)
CRESSET_DECLARE_OPERATOR(&)
CRESSET_DECLARE_OPERATOR(|)
CRESSET_DECLARE_OPERATOR(^)
#undef CRESSET_DECLARE_OPERATOR

CRESSET_API std::ostream& operator<<(std::ostream& out, const Tensor& t);
CRESSET_API std::ostream& operator<<(std::ostream& out, ScalarType t);
CRESSET_API std::ostream& operator<<(std::ostream& out, const Scalar& s);
CRESSET_API std::ostream& operator<<(std::ostream& out, const Device& d);
CRESSET_API std::ostream& operator<<(std::ostream& out, DeviceType t);
CRESSET_API std::ostream& operator<<(std::ostream& out, SymInt i);
CRESSET_API std::ostream& operator<<(std::ostream& out, IntArrayRef sizes);
CRESSET_API std::ostream& operator<<(std::ostream& out, Layout layout);
CRESSET_API std::ostream& operator<<(std::ostream& out, MemoryFormat format);
CRESSET_API std::ostream& operator<<(std::ostream& out, const TensorOptions& options);

// A wrapped number: takes part in type promotion as a scalar.
CRESSET_API Tensor wrapped_scalar_tensor(const Scalar& value, Device device = Device(DeviceType::CPU));

CRESSET_API void append_part(std::string& s, const Tensor& t);

}  // namespace cresset

namespace std {
template <> struct hash<cresset::Tensor> {
  size_t operator()(const cresset::Tensor& t) const noexcept { return hash<void*>()(t.impl()); }
};
}  // namespace std
