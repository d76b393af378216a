#include "cresset/ops/layout/dlpack.h"

#include "cresset/ops/layout/from_data.h"
#include "cresset/ops/layout/view_geometry.h"

namespace cresset {

namespace {

DLDataType type_of(ScalarType t) {
  const uint8_t code = t == kBool            ? kDLBool
                       : t == kBFloat16      ? kDLBfloat
                       : is_complex_type(t)  ? kDLComplex
                       : is_floating_type(t) ? kDLFloat
                       : is_signed_type(t)   ? kDLInt
                                             : kDLUInt;
  return {code, static_cast<uint8_t>(element_size(t) * 8), 1};
}

// Kept while the structure is with others: the memory, which may not move, and the geometry at the time.
template <class Managed> struct Exported {
  explicit Exported(const Tensor& t) : tensor(t.detach()), shape(t.sizes().vec()), strides(t.strides().vec()) { tensor.impl()->storage()->lend(); }
  ~Exported() { tensor.impl()->storage()->take_back(); }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;

  Tensor tensor;
  std::vector<int64_t> shape, strides;
  Managed managed{};
};

template <class Managed> Managed* exported(const Tensor& t) {
  CRESSET_CHECK(t.defined() && t.impl()->has_storage() && t.impl()->backend() == kCpuBackend,
                "to_dlpack: the values of the tensor do not lie in the memory of the CPU");
  auto* e = new Exported<Managed>(t);
  Managed& m = e->managed;
  m.dl_tensor = {t.data_ptr(), getDLContext(t), static_cast<int32_t>(t.dim()), getDLDataType(t), e->shape.data(), e->strides.data(), 0};
  m.manager_ctx = e;
  m.deleter = [](Managed* it) { delete static_cast<Exported<Managed>*>(it->manager_ctx); };
  return &m;
}

Tensor over(const DLTensor& d, std::function<void(void*)> deleter) {
  CRESSET_CHECK(d.device.device_type == kDLCPU, "from_dlpack: got memory of device type ", static_cast<int>(d.device.device_type), ", expected the CPU (1)");
  const IntArrayRef sizes(d.shape, static_cast<size_t>(d.ndim));
  const DimVector dense = contiguous_strides(sizes);
  const IntArrayRef strides = d.strides ? IntArrayRef(d.strides, static_cast<size_t>(d.ndim)) : IntArrayRef(dense);
  for (const int64_t s : strides) CRESSET_CHECK(s >= 0, "from_dlpack: negative strides are not supported, got ", strides);
  return from_blob(static_cast<char*>(d.data) + d.byte_offset, sizes, strides, std::move(deleter), toScalarType(d.dtype));
}

template <class Managed> std::function<void(void*)> own_deleter(Managed* managed) {
  return [managed](void*) {
    if (managed->deleter) managed->deleter(managed);
  };
}

}  // namespace

ScalarType toScalarType(const DLDataType& type) {
  CRESSET_CHECK(type.lanes == 1, "from_dlpack: elements of ", static_cast<int>(type.lanes), " lanes are not supported");
  for (int t = 0; t < kNumDTypes; t++) {
    const DLDataType own = type_of(static_cast<ScalarType>(t));
    if (own.code == type.code && own.bits == type.bits) return static_cast<ScalarType>(t);
  }
  CRESSET_CHECK(false, "from_dlpack: no dtype for type code ", static_cast<int>(type.code), " of ", static_cast<int>(type.bits), " bits");
  return ScalarType::Undefined;
}
DLDataType getDLDataType(const Tensor& t) { return type_of(t.scalar_type()); }
DLDevice getDLContext(const Tensor& t) {
  CRESSET_CHECK(t.device().is_cpu(), "to_dlpack: expected a tensor on the CPU, got one on ", t.device());
  return {kDLCPU, 0};
}

DLManagedTensor* toDLPack(const Tensor& t) { return exported<DLManagedTensor>(t); }
DLManagedTensorVersioned* toDLPackVersioned(const Tensor& t) {
  auto* m = exported<DLManagedTensorVersioned>(t);
  m->version = {1, 0};
  return m;
}

Tensor fromDLPack(DLManagedTensor* managed) { return fromDLPack(managed, own_deleter(managed)); }
Tensor fromDLPack(DLManagedTensor* managed, std::function<void(void*)> deleter) { return over(managed->dl_tensor, std::move(deleter)); }
Tensor fromDLPackVersioned(DLManagedTensorVersioned* managed) { return fromDLPackVersioned(managed, own_deleter(managed)); }
Tensor fromDLPackVersioned(DLManagedTensorVersioned* managed, std::function<void(void*)> deleter) {
  CRESSET_CHECK(managed->version.major == 1, "from_dlpack: got a structure of DLPack version ", managed->version.major, ", expected 1");
  return over(managed->dl_tensor, std::move(deleter));
}

}  // namespace cresset
