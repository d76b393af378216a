#pragma once
// Device types and indices. Types beyond the built-in ones are registered at run time by name.

#include <string>

#include "cresset/base/error.h"
#include "cresset/base/macros.h"

namespace cresset {

using DeviceIndex = int8_t;

enum class DeviceType : int8_t { CPU, CUDA, Meta, FirstRegistered, MaxRegistered = 31 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;

// Lower-case name: "cpu", "cuda", "meta", or the name a plug-in registered.
CRESSET_API const char* device_type_name(DeviceType t);
// Adds a device type under `name`, or returns the one that has it. Errors: no free slot, a name that is not an identifier.
CRESSET_API DeviceType register_device_type(const std::string& name);

struct Device {
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
template <> struct hash<cresset::Device> {
  size_t operator()(cresset::Device d) const noexcept { return static_cast<size_t>(d.type()) * 256 + static_cast<uint8_t>(d.index()); }
};
}  // namespace std
