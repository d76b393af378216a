#pragma once
// Device types and indices. Types beyond the built-in ones are registered at run time by name.

#include <string>

#include "cresset/base/error.h"
#include "cresset/base/macros.h"

namespace cresset {

using DeviceIndex = int8_t;

// The types that PyTorch names. CPU and Meta are served by the library, the others by backends that register.
enum class DeviceType : int8_t {
  CPU,
  CUDA,
  Meta,
  MKLDNN,
  OPENGL,
  OPENCL,
  IDEEP,
  HIP,
  FPGA,
  MAIA,
  XLA,
  Vulkan,
  Metal,
  XPU,
  MPS,
  HPU,
  VE,
  Lazy,
  IPU,
  MTIA,
  PrivateUse1,
  FirstRegistered,
  COMPILE_TIME_MAX_DEVICE_TYPES = FirstRegistered,
  MaxRegistered = 63,
};
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;

// Lower-case name: "cpu", "cuda", "meta", or the name a plug-in registered.
CRESSET_API const char* device_type_name(DeviceType t);
// Adds a device type under `name`, or returns the one that has it. Errors: no free slot, a name that is not an identifier.
CRESSET_API DeviceType register_device_type(const std::string& name);
// The name that DeviceType::PrivateUse1 goes by, "privateuseone" at first. Errors: a name that another type has; a second name.
CRESSET_API void register_privateuse1_backend(const std::string& name);
CRESSET_API bool is_privateuse1_backend_registered();
// In lower or in upper case.
CRESSET_API std::string get_privateuse1_backend(bool lower_case = true);
CRESSET_API bool isValidDeviceType(DeviceType t);
// "CPU", "CUDA", ... or with `lower_case` what device_type_name gives.
CRESSET_API std::string DeviceTypeName(DeviceType t, bool lower_case = false);
inline void append_part(std::string& s, DeviceType t) { s += device_type_name(t); }

struct Device {
  using Type = DeviceType;

  constexpr Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  // "cpu", "cuda:1", "meta", "mydevice:0". Errors: unknown type, malformed index.
  CRESSET_API Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  constexpr DeviceType type() const { return type_; }
  constexpr DeviceIndex index() const { return index_; }
  constexpr bool has_index() const { return index_ != -1; }
  constexpr bool is_cpu() const { return type_ == DeviceType::CPU; }
  constexpr bool is_cuda() const { return type_ == DeviceType::CUDA; }
  constexpr bool is_meta() const { return type_ == DeviceType::Meta; }
  constexpr bool is_privateuseone() const { return type_ == DeviceType::PrivateUse1; }
  constexpr bool is_mps() const { return type_ == DeviceType::MPS; }
  constexpr bool is_hip() const { return type_ == DeviceType::HIP; }
  constexpr bool is_ve() const { return type_ == DeviceType::VE; }
  constexpr bool is_xpu() const { return type_ == DeviceType::XPU; }
  constexpr bool is_ipu() const { return type_ == DeviceType::IPU; }
  constexpr bool is_xla() const { return type_ == DeviceType::XLA; }
  constexpr bool is_mtia() const { return type_ == DeviceType::MTIA; }
  constexpr bool is_hpu() const { return type_ == DeviceType::HPU; }
  constexpr bool is_lazy() const { return type_ == DeviceType::Lazy; }
  constexpr bool is_vulkan() const { return type_ == DeviceType::Vulkan; }
  constexpr bool is_metal() const { return type_ == DeviceType::Metal; }
  constexpr bool is_maia() const { return type_ == DeviceType::MAIA; }
  constexpr bool supports_as_strided() const { return type_ != DeviceType::IPU && type_ != DeviceType::XLA && type_ != DeviceType::Lazy; }
  void set_index(DeviceIndex index) { index_ = index; }
  CRESSET_API std::string str() const;
  constexpr bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
  constexpr bool operator!=(const Device& o) const { return !(*this == o); }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

inline void append_part(std::string& s, const Device& d) { s += d.str(); }

}  // namespace cresset

namespace std {
template <> struct hash<cresset::DeviceType> {
  size_t operator()(cresset::DeviceType t) const noexcept { return static_cast<size_t>(t); }
};
template <> struct hash<cresset::Device> {
  size_t operator()(cresset::Device d) const noexcept { return static_cast<size_t>(d.type()) * 256 + static_cast<uint8_t>(d.index()); }
};
}  // namespace std
