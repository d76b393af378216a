#pragma once
// Dtype and backend in one object, as LibTorch's deprecated `tensor.type()` and `at::CPU(kFloat)` give them.

#include "cresset/core/dispatch_key_set.h"
#include "cresset/core/tensor_options.h"

namespace cresset {

enum class Backend {
  CPU,
  CUDA,
  HIP,
  VE,
  FPGA,
  IPU,
  XPU,
  SparseCPU,
  SparseCUDA,
  SparseCsrCPU,
  SparseCsrCUDA,
  SparseCsrMPS,
  SparseMPS,
  SparseHIP,
  SparseVE,
  SparseXPU,
  SparsePrivateUse1,
  SparseCsrHIP,
  SparseCsrVE,
  SparseCsrXPU,
  SparseCsrPrivateUse1,
  MAIA,
  XLA,
  Vulkan,
  Metal,
  Meta,
  QuantizedCPU,
  QuantizedCUDA,
  QuantizedXPU,
  QuantizedPrivateUse1,
  Undefined,
  MkldnnCPU,
  MPS,
  HPU,
  Lazy,
  MTIA,
  PrivateUse1,
  NumOptions,
};
CRESSET_API const char* toString(Backend b);
CRESSET_API std::ostream& operator<<(std::ostream& out, Backend b);
CRESSET_API DispatchKey backendToDispatchKey(Backend b);
CRESSET_API Backend dispatchKeyToBackend(DispatchKey k);
// Errors: Undefined.
CRESSET_API DeviceType backendToDeviceType(Backend b);
CRESSET_API bool isSparse(Backend b);
CRESSET_API bool isSparseCsr(Backend b);
CRESSET_API Layout layout_from_backend(Backend b);

inline Backend TensorOptions::backend() const { return dispatchKeyToBackend(computeDispatchKey(dtype().toScalarType(), layout(), device())); }

class CRESSET_API DeprecatedTypeProperties {
 public:
  constexpr DeprecatedTypeProperties(Backend backend, ScalarType dtype) : backend_(backend), dtype_(dtype) {}

  Backend backend() const { return backend_; }
  Layout layout() const { return layout_from_backend(backend_); }
  bool is_sparse() const { return isSparse(backend_); }
  bool is_sparse_csr() const { return isSparseCsr(backend_); }
  DeviceType device_type() const { return backendToDeviceType(backend_); }
  bool is_cuda() const { return device_type() == DeviceType::CUDA; }
  ScalarType scalarType() const { return dtype_; }
  TypeMeta typeMeta() const { return TypeMeta::fromScalarType(dtype_); }
  // "CPUFloatType", "SparseCPULongType".
  std::string toString() const;
  DeprecatedTypeProperties& toBackend(Backend b) const;
  DeprecatedTypeProperties& toScalarType(ScalarType t) const;
  DeprecatedTypeProperties& cpu() const { return toBackend(Backend::CPU); }
  DeprecatedTypeProperties& cuda() const { return toBackend(Backend::CUDA); }
  TensorOptions options(DeviceIndex index = -1) const { return TensorOptions(dtype_).device(device_type(), index).layout(layout()); }
  operator TensorOptions() const { return options(); }
  int64_t id() const { return static_cast<int64_t>(backend_) * static_cast<int64_t>(ScalarType::NumOptions) + static_cast<int64_t>(dtype_); }
  Tensor copy(const Tensor& source, bool non_blocking = false) const { return source.to(options(), non_blocking, true); }
  friend bool operator==(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) { return a.backend_ == b.backend_ && a.dtype_ == b.dtype_; }
  friend bool operator!=(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) { return !(a == b); }

 private:
  Backend backend_;
  ScalarType dtype_;
};
CRESSET_API std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& t);

// One object for each pair.
CRESSET_API DeprecatedTypeProperties& getDeprecatedTypeProperties(Backend b, ScalarType t);
inline DeprecatedTypeProperties& CPU(ScalarType t) { return getDeprecatedTypeProperties(Backend::CPU, t); }
inline DeprecatedTypeProperties& CUDA(ScalarType t) { return getDeprecatedTypeProperties(Backend::CUDA, t); }
inline DeprecatedTypeProperties& HIP(ScalarType t) { return getDeprecatedTypeProperties(Backend::HIP, t); }
inline DeprecatedTypeProperties& MPS(ScalarType t) { return getDeprecatedTypeProperties(Backend::MPS, t); }

}  // namespace cresset
