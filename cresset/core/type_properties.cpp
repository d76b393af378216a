#include "cresset/core/type_properties.h"
#include "cresset/base/dimname.h"

#include <mutex>
#include <ostream>
#include <unordered_map>

namespace cresset {

Tensor Tensor::refine_names(ArrayRef<Dimname> names) const {
  detail::throw_error<NotImplementedError>(str("refine_names: dimensions have no names, got ", names.size(), " for shape ", sizes()));
}

namespace {

constexpr const char* kNames[] = {"CPU",
                                  "CUDA",
                                  "HIP",
                                  "VE",
                                  "FPGA",
                                  "IPU",
                                  "XPU",
                                  "SparseCPU",
                                  "SparseCUDA",
                                  "SparseCsrCPU",
                                  "SparseCsrCUDA",
                                  "SparseCsrMPS",
                                  "SparseMPS",
                                  "SparseHIP",
                                  "SparseVE",
                                  "SparseXPU",
                                  "SparsePrivateUse1",
                                  "SparseCsrHIP",
                                  "SparseCsrVE",
                                  "SparseCsrXPU",
                                  "SparseCsrPrivateUse1",
                                  "MAIA",
                                  "XLA",
                                  "Vulkan",
                                  "Metal",
                                  "Meta",
                                  "QuantizedCPU",
                                  "QuantizedCUDA",
                                  "QuantizedXPU",
                                  "QuantizedPrivateUse1",
                                  "Undefined",
                                  "MkldnnCPU",
                                  "MPS",
                                  "HPU",
                                  "Lazy",
                                  "MTIA",
                                  "PrivateUse1"};
static_assert(std::size(kNames) == static_cast<size_t>(Backend::NumOptions));

bool begins_with(Backend b, std::string_view text) { return std::string_view(toString(b)).substr(0, text.size()) == text; }

}  // namespace

const char* toString(Backend b) { return b < Backend::NumOptions ? kNames[static_cast<size_t>(b)] : "UNKNOWN_BACKEND"; }
std::ostream& operator<<(std::ostream& out, Backend b) { return out << toString(b); }

DispatchKey backendToDispatchKey(Backend b) { return b == Backend::Undefined ? DispatchKey::Undefined : parseDispatchKey(toString(b)); }

Backend dispatchKeyToBackend(DispatchKey k) {
  const std::string name = toString(k);
  const std::string own = name.rfind("Autograd", 0) == 0 ? name.substr(8) : name;
  for (size_t i = 0; i < std::size(kNames); i++)
    if (own == kNames[i]) return static_cast<Backend>(i);
  throw Error(str("dispatchKeyToBackend: ", name, " is no backend"));
}

bool isSparse(Backend b) { return begins_with(b, "Sparse") && !isSparseCsr(b); }
bool isSparseCsr(Backend b) { return begins_with(b, "SparseCsr"); }
Layout layout_from_backend(Backend b) {
  return b == Backend::MkldnnCPU ? Layout::Mkldnn : isSparse(b) ? Layout::Sparse : isSparseCsr(b) ? Layout::SparseCsr : Layout::Strided;
}

DeviceType backendToDeviceType(Backend b) {
  CRESSET_CHECK(b != Backend::Undefined, "backendToDeviceType: expected a backend, got Undefined");
  std::string name = toString(b);
  for (const char* prefix : {"SparseCsr", "Sparse", "Quantized", "Mkldnn"})
    if (name.rfind(prefix, 0) == 0) {
      name = name.substr(std::string(prefix).size());
      break;
    }
  if (name == "PrivateUse1") return DeviceType::PrivateUse1;
  for (int i = 0; i < static_cast<int>(DeviceType::PrivateUse1); i++) {
    const auto type = static_cast<DeviceType>(i);
    std::string upper = name;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (DeviceTypeName(type) == upper) return type;
  }
  throw Error(str("backendToDeviceType: ", toString(b), " has no device"));
}

std::string DeprecatedTypeProperties::toString() const {
  if (backend_ == Backend::Undefined || dtype_ == ScalarType::Undefined) return "UndefinedType";
  return std::string(cresset::toString(backend_)) + cresset::toString(dtype_) + "Type";
}
DeprecatedTypeProperties& DeprecatedTypeProperties::toBackend(Backend b) const { return getDeprecatedTypeProperties(b, dtype_); }
DeprecatedTypeProperties& DeprecatedTypeProperties::toScalarType(ScalarType t) const { return getDeprecatedTypeProperties(backend_, t); }
std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& t) { return out << t.toString(); }

DeprecatedTypeProperties& getDeprecatedTypeProperties(Backend b, ScalarType t) {
  static std::mutex mutex;
  static auto* all = new std::unordered_map<int64_t, DeprecatedTypeProperties>;
  const DeprecatedTypeProperties wanted(b, t);
  std::lock_guard<std::mutex> lock(mutex);
  return all->emplace(wanted.id(), wanted).first->second;
}

namespace {

// The key of a set that names a backend.
DispatchKey backend_key(DispatchKeySet keys) {
  for (const DispatchKey key : keys)
    for (const char* name : kNames)
      if (std::string_view(toString(key)) == name) return key;
  throw Error(str("TensorImpl: expected the key of a backend among ", toString(keys)));
}
Device device_of(DispatchKey key) { return Device(backendToDeviceType(dispatchKeyToBackend(key))); }
// The storage's, where it is of the kind that the key asks for: calls go by the key.
Device device_of(const Storage& storage, DispatchKey key) {
  const Device asked = device_of(key);
  return storage && storage.device().type() == asked.type() ? storage.device() : asked;
}

}  // namespace

TensorImpl::TensorImpl(Storage storage, DispatchKey key, TypeMeta dtype)
    : TensorImpl(storage.impl(), dtype.toScalarType(), device_of(storage, key), layout_from_backend(dispatchKeyToBackend(key))) {}
TensorImpl::TensorImpl(Storage storage, DispatchKeySet keys, TypeMeta dtype) : TensorImpl(std::move(storage), backend_key(keys), dtype) {}
TensorImpl::TensorImpl(DispatchKey key, TypeMeta dtype, std::optional<Device> device)
    : TensorImpl(intrusive_ptr<StorageImpl>(), dtype.toScalarType(), device ? *device : device_of(key), layout_from_backend(dispatchKeyToBackend(key))) {}
TensorImpl::TensorImpl(DispatchKeySet keys, TypeMeta dtype, std::optional<Device> device) : TensorImpl(backend_key(keys), dtype, device) {}

DeprecatedTypeProperties& Tensor::type() const {
  return getDeprecatedTypeProperties(dispatchKeyToBackend(computeDispatchKey(scalar_type(), layout(), device())), scalar_type());
}

}  // namespace cresset
