#include "cresset/base/device.h"

#include <cctype>
#include <cstdlib>
#include <mutex>

namespace cresset {

namespace {

constexpr int kSlots = static_cast<int>(DeviceType::MaxRegistered) + 1;
constexpr int kFirst = static_cast<int>(DeviceType::FirstRegistered);

struct Names {
  std::mutex mutex;
  std::string registered[kSlots];
  int count = kFirst;
};

Names& names() {
  static Names* n = new Names;
  return *n;
}

}  // namespace

const char* device_type_name(DeviceType t) {
  switch (t) {
    case DeviceType::CPU: return "cpu";
    case DeviceType::CUDA: return "cuda";
    case DeviceType::Meta: return "meta";
    default: return names().registered[static_cast<int>(t)].c_str();
  }
}

DeviceType register_device_type(const std::string& name) {
  bool identifier = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0]));
  for (char c : name) identifier = identifier && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  CRESSET_CHECK(identifier, "register_device_type: expected an identifier such as \"mydevice\", got \"", name, "\"");
  for (DeviceType t : {DeviceType::CPU, DeviceType::CUDA, DeviceType::Meta})
    if (name == device_type_name(t)) return t;
  Names& all = names();
  std::lock_guard<std::mutex> lock(all.mutex);
  for (int i = kFirst; i < all.count; i++)
    if (all.registered[i] == name) return static_cast<DeviceType>(i);
  CRESSET_CHECK(all.count < kSlots, "register_device_type: no slot left for \"", name, "\", ", kSlots - kFirst, " are registered");
  all.registered[all.count] = name;
  return static_cast<DeviceType>(all.count++);
}

Device::Device(const std::string& text) : type_(DeviceType::CPU), index_(-1) {
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  bool known = false;
  for (DeviceType t : {DeviceType::CPU, DeviceType::CUDA, DeviceType::Meta})
    if (type == device_type_name(t)) { type_ = t; known = true; }
  if (!known) {
    Names& all = names();
    std::lock_guard<std::mutex> lock(all.mutex);
    for (int i = kFirst; i < all.count; i++)
      if (all.registered[i] == type) { type_ = static_cast<DeviceType>(i); known = true; }
  }
  CRESSET_CHECK(known, "device: unknown device type in \"", text, "\", expected cpu, cuda, meta or a registered name");
  if (colon == std::string::npos) return;
  const std::string digits = text.substr(colon + 1);
  bool numeric = !digits.empty() && digits.size() <= 3 && (digits.size() == 1 || digits[0] != '0');
  for (char c : digits) numeric = numeric && std::isdigit(static_cast<unsigned char>(c));
  CRESSET_CHECK(numeric && std::atoi(digits.c_str()) < 128, "device: invalid index in \"", text, "\", expected a number such as \"cuda:0\"");
  index_ = static_cast<DeviceIndex>(std::atoi(digits.c_str()));
}

std::string Device::str() const {
  std::string s = device_type_name(type_);
  if (has_index()) s += ":" + std::to_string(index_);
  return s;
}

}  // namespace cresset
