#pragma once
// Namespaces torch, at and c10 up to tensors: what <ATen/ATen.h> and <torch/types.h> are asked for.

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>
#include <variant>

#include "cresset/base/dimname.h"
#include "cresset/base/intrusive_ptr.h"
#include "cresset/base/numbers/complex_math.h"
#include "cresset/base/util/interop.h"
#include "cresset/base/util/ordered_dict.h"
#include "cresset/base/util/std_print.h"
#include "cresset/base/util/text.h"
#include "cresset/core/maybe_owned.h"
#include "cresset/core/memory/data_allocator.h"
#include "cresset/core/type_properties.h"
#include "cresset/dispatch/values/value.h"
#include "cresset/nn/module/enum.h"
#include "cresset/nn/module/expanding_array.h"
#include "cresset/ops/build_info.h"
#include "cresset/ops/layout/tensor_data.h"
#include "cresset/ops/namespaces.h"
#include "cresset/sparse.h"
#include "cresset/tensor.h"
#include "torch/detail/dispatch_keys.h"
#include "torch/detail/macros.h"

namespace c10 {
#include "torch/detail/names.inc"
using cresset::complex;
using cresset::is_complex;
inline Allocator* GetCPUAllocator() { return cresset::data_allocator_of(cresset::kCPU); }
inline Allocator* GetDefaultCPUAllocator() { return GetCPUAllocator(); }
inline Allocator* GetAllocator(DeviceType type) { return cresset::data_allocator_of(type); }
inline void SetAllocator(DeviceType type, Allocator* allocator, uint8_t = 0) { cresset::set_allocator(type, allocator); }
// Memory of the CPU, aligned as that of its tensors, for devices that are made of it.
inline void* alloc_cpu(size_t nbytes) { return std::aligned_alloc(64, (nbytes + 63) / 64 * 64); }
inline void free_cpu(void* data) { std::free(data); }

// [0, end) or [begin, end) for a range-based loop.
template <class T> class IntegerRange {
 public:
  class Iterator {
   public:
    explicit Iterator(T value) : value_(value) {}
    T operator*() const { return value_; }
    Iterator& operator++() {
      ++value_;
      return *this;
    }
    bool operator!=(const Iterator& o) const { return value_ != o.value_; }
    bool operator==(const Iterator& o) const { return value_ == o.value_; }

   private:
    T value_;
  };
  IntegerRange(T begin, T end) : begin_(begin), end_(end < begin ? begin : end) {}
  Iterator begin() const { return begin_; }
  Iterator end() const { return end_; }

 private:
  Iterator begin_, end_;
};
template <class T> IntegerRange<T> irange(T end) { return {T(), end}; }
template <class A, class B> IntegerRange<B> irange(A begin, B end) { return {static_cast<B>(begin), end}; }

template <class... Parts> std::string str(const Parts&... parts) { return ::cresset::compat::text_of(parts...); }

// The choices that a kernel's options leave open.
inline ScalarType dtype_or_default(std::optional<ScalarType> dtype) { return dtype ? *dtype : cresset::get_default_dtype(); }
inline cresset::TypeMeta dtype_or_default(std::optional<cresset::TypeMeta> dtype) {
  return dtype ? *dtype : cresset::TypeMeta::fromScalarType(cresset::get_default_dtype());
}
inline Layout layout_or_default(std::optional<Layout> layout) { return layout.value_or(cresset::kStrided); }
inline Device device_or_default(std::optional<Device> device) { return device.value_or(Device(cresset::kCPU)); }
inline bool pinned_memory_or_default(std::optional<bool> pinned) { return pinned.value_or(false); }

using cresset::Backend;
using cresset::backendToDeviceType;
using cresset::backendToDispatchKey;
using cresset::dispatchKeyToBackend;
using cresset::ExclusivelyOwned;
using cresset::Join;
using cresset::MaybeOwned;
using cresset::warnings::warn;
using std::get;
using std::get_if;
using std::holds_alternative;
using std::monostate;
using std::to_string;
using std::variant;
using std::visit;
namespace guts {
using std::to_string;
}
namespace impl::cow {
// Copies share no memory until the first write here.
inline bool is_cow_data_ptr(const cresset::DataPtr&) { return false; }
}  // namespace impl::cow
}  // namespace c10

namespace caffe2 {
using cresset::TypeIdentifier;
using cresset::TypeMeta;
}  // namespace caffe2

namespace cresset::compat {
// arange(0, 10), which the operators with and without a step would both take.
template <class Start, class End, class = std::enable_if_t<std::is_arithmetic<Start>::value && std::is_arithmetic<End>::value>>
Tensor arange(Start start, End end) {
  return cresset::arange(Scalar(start), Scalar(end), TensorOptions());
}

// A view of the geometry that is given, from where the tensor begins.
inline Tensor _reshape_alias(const Tensor& self, IntArrayRef size, IntArrayRef stride) { return self.as_strided(size, stride); }

// Zeros that one element stands for; they cannot be written to.
inline Tensor _efficientzerotensor(IntArrayRef size, const TensorOptions& options = {}) { return cresset::zeros({}, options).expand(size); }

// A tensor with the values of `self` and memory of its own. Memory is copied at once: none is shared until the first write.
inline Tensor _lazy_clone(const Tensor& self) { return self.clone(); }

// at::tensor: one dimension, and where the options say no dtype that of the C++ numbers, int32 and float64 too.
template <class T> Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return cresset::tensor(cresset::detail::TensorData(values), options.has_dtype() ? options : options.dtype(dtype_of<T>));
}
template <class T> Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) { return tensor(values.vec(), options); }
template <class T> Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) { return tensor(std::vector<T>(values), options); }
template <class T, class = cresset::detail::IfNumber<T>> Tensor tensor(T value, const TensorOptions& options = {}) {
  return tensor(std::vector<T>{value}, options);
}

// The operator, which c10's class template of this name hides.
inline Tensor complex(const Tensor& real, const Tensor& imag) { return make_complex(real, imag); }
inline Tensor& complex_out(Tensor& out, const Tensor& real, const Tensor& imag) { return make_complex_out(out, real, imag); }
}  // namespace cresset::compat

namespace at {
#include "cresset/ops/names.inc"
using cresset::compat::_efficientzerotensor;
using cresset::compat::_lazy_clone;
using cresset::compat::_reshape_alias;
using cresset::compat::arange;
using cresset::compat::complex;
using cresset::compat::complex_out;
using cresset::compat::tensor;
#include "torch/detail/names.inc"
namespace indexing {
using namespace cresset::indexing;
}
namespace native {
using namespace cresset;
inline Tensor _stack(TensorList tensors, int64_t dim = 0) { return stack(tensors, dim); }
inline Tensor _stack_cpu(TensorList tensors, int64_t dim = 0) { return stack(tensors, dim); }
// Of these the forms with a list of scales.
inline Tensor _upsample_nearest_exact2d(const Tensor& input, OptionalIntArrayRef output_size, std::optional<ArrayRef<double>> scale_factors) {
  return upsample_nearest_exact(input, output_size, scale_factors);
}
inline Tensor _upsample_bilinear2d_aa(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners, std::optional<ArrayRef<double>> scale_factors) {
  return upsample_linear(input, output_size, align_corners, scale_factors, true);
}
inline Tensor _upsample_bicubic2d_aa(const Tensor& input, OptionalIntArrayRef output_size, bool align_corners, std::optional<ArrayRef<double>> scale_factors) {
  return upsample_bicubic(input, output_size, align_corners, scale_factors, true);
}
}  // namespace native
// No autograd layer for calls made in their scope, as kernels below it want.
struct AutoDispatchBelowAutograd {
  cresset::ExcludeLayers guard{cresset::kAutogradLayer};
};
using AutoDispatchBelowADInplaceOrView = AutoDispatchBelowAutograd;
struct AutoNonVariableTypeMode : AutoDispatchBelowAutograd {
  explicit AutoNonVariableTypeMode(bool = true) {
    CRESSET_WARN_ONCE("AutoNonVariableTypeMode is deprecated; use AutoDispatchBelowAutograd in kernels, and InferenceMode in programs");
  }
};
using AutoDispatchSkipFunctionalize = AutoDispatchBelowAutograd;
using TensorBase = cresset::Tensor;
namespace detail {
// A tensor whose impl is an object of this class.
template <class Impl = cresset::TensorImpl, class... Args> Tensor make_tensor(Args&&... args) {
  return Tensor(cresset::intrusive_ptr<cresset::TensorImpl>(cresset::make_intrusive<Impl>(std::forward<Args>(args)...)));
}
}  // namespace detail
using c10::irange;
using c10::MaybeOwned;
using c10::str;
// The operator of PyTorch's own tests of arguments that are left out.
inline Tensor _test_ambiguous_defaults(const Tensor& dummy, int64_t a = 1, int64_t b = 1) { return dummy.new_full({}, a + b); }
inline Tensor _test_ambiguous_defaults(const Tensor& dummy, int64_t a, std::string_view b) { return dummy.new_full({}, a + static_cast<int64_t>(b.size())); }
using cresset::Backend;
using cresset::CPU;
using cresset::CUDA;
using cresset::DeprecatedTypeProperties;
using cresset::for_blob;
using cresset::launch;
using cresset::TensorMaker;
// Operators for sizes that may be symbols in LibTorch.
inline Tensor empty_symint(SymIntArrayRef size, const TensorOptions& o = {}, std::optional<MemoryFormat> format = std::nullopt) {
  return cresset::empty(cresset::asIntArrayRefUnchecked(size), o, format);
}
inline Tensor empty_strided_symint(SymIntArrayRef size, SymIntArrayRef stride, const TensorOptions& o = {}) {
  return cresset::empty_strided(cresset::asIntArrayRefUnchecked(size), cresset::asIntArrayRefUnchecked(stride), o);
}
inline Tensor zeros_symint(SymIntArrayRef size, const TensorOptions& o = {}) { return cresset::zeros(cresset::asIntArrayRefUnchecked(size), o); }
inline Tensor ones_symint(SymIntArrayRef size, const TensorOptions& o = {}) { return cresset::ones(cresset::asIntArrayRefUnchecked(size), o); }
inline Tensor full_symint(SymIntArrayRef size, const Scalar& value, const TensorOptions& o = {}) {
  return cresset::full(cresset::asIntArrayRefUnchecked(size), value, o);
}
inline Tensor reshape_symint(const Tensor& self, SymIntArrayRef shape) { return self.reshape_symint(shape); }
inline Tensor narrow_symint(const Tensor& self, int64_t dim, SymInt start, SymInt length) { return self.narrow_symint(dim, start, length); }
inline Tensor select_symint(const Tensor& self, int64_t dim, SymInt index) { return self.select_symint(dim, index); }
inline bool hasCUDA() { return false; }
inline bool hasHIP() { return false; }
inline bool hasMAGMA() { return false; }
inline bool hasMPS() { return false; }
inline bool hasXPU() { return false; }
inline bool hasMTIA() { return false; }
inline bool hasMAIA() { return false; }
inline bool hasHPU() { return false; }
inline bool hasIPU() { return false; }
inline bool hasXLA() { return false; }
inline bool hasMKL() { return false; }
inline bool hasOpenMP() { return false; }
inline bool hasMKLDNN() { return cresset::onednn_found(); }
inline bool hasLAPACK() { return cresset::lapack_found(); }
}  // namespace at

namespace torch {
using c10::str;
using cresset::for_blob;
using cresset::tensor;
using std::make_unique;
namespace detail {
using cresset::detail::TensorDataContainer;
}
#include "cresset/ops/names.inc"
using cresset::compat::_efficientzerotensor;
using cresset::compat::_lazy_clone;
using cresset::compat::_reshape_alias;
using cresset::compat::arange;
using cresset::compat::complex;
using cresset::compat::complex_out;
#include "torch/detail/names.inc"
namespace indexing {
using namespace cresset::indexing;
}
namespace enumtype {
using namespace cresset::enumtype;
using cresset::enumtype::get_enum_name;
template <class... Choices> std::string get_enum_name(const std::variant<Choices...>& choice) {
  return std::visit([](auto one) { return std::string(name_of(decltype(one)::id)); }, choice);
}
template <class Choice> Reduction::Reduction reduction_get_enum(const Choice& reduction) {
  const std::string name = get_enum_name(reduction);
  return name == "kNone" ? Reduction::None : name == "kSum" ? Reduction::Sum : Reduction::Mean;
}
}  // namespace enumtype
using at::AutoDispatchBelowADInplaceOrView;
using at::AutoDispatchBelowAutograd;
using at::AutoNonVariableTypeMode;
using c10::Backend;
#define CRESSET_USING_CHOICE(Name) using cresset::k##Name;
CRESSET_FOR_EACH_CHOICE(CRESSET_USING_CHOICE)
#undef CRESSET_USING_CHOICE
namespace cuda {
inline bool is_available() { return false; }
inline bool cudnn_is_available() { return false; }
inline size_t device_count() { return 0; }
inline void manual_seed(uint64_t) {}
inline void manual_seed_all(uint64_t) {}
inline void synchronize(int64_t = -1) {}
}  // namespace cuda
namespace mps {
inline bool is_available() { return false; }
inline void manual_seed(uint64_t) {}
inline void synchronize() {}
}  // namespace mps
namespace xpu {
inline bool is_available() { return false; }
inline size_t device_count() { return 0; }
inline void manual_seed(uint64_t) {}
inline void manual_seed_all(uint64_t) {}
inline void synchronize(int64_t = -1) {}
}  // namespace xpu
// Tensors whose rows have lengths of their own are not there: the names are, and raise.
namespace nested {
namespace detail {
[[noreturn]] inline void raise(const char* name) {
  cresset::detail::throw_error<cresset::NotImplementedError>(std::string(name) + ": nested tensors are there in Python alone; pad them, or keep a list");
}
}  // namespace detail
inline Tensor nested_tensor(const std::vector<Tensor>&, const TensorOptions& = {}) { detail::raise("nested_tensor"); }
inline Tensor as_nested_tensor(TensorList, std::optional<ScalarType> = {}, std::optional<Device> = {}) { detail::raise("as_nested_tensor"); }
inline Tensor to_padded_tensor(const Tensor&, double, OptionalIntArrayRef = {}) { detail::raise("to_padded_tensor"); }
}  // namespace nested
namespace fft = cresset::fft;
namespace linalg = cresset::linalg;
namespace sparse = cresset::sparse;
namespace special {
using namespace cresset::special;
using cresset::digamma;
using cresset::erf;
using cresset::erfc;
using cresset::erfinv;
using cresset::exp2;
using cresset::expm1;
using cresset::log1p;
using cresset::log_softmax;
using cresset::logit;
using cresset::logsumexp;
using cresset::round;
using cresset::softmax;
using cresset::xlogy;
}  // namespace special
}  // namespace torch
