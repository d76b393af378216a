#include "cresset/base/device.h"

#include <cctype>
#include <cstdlib>
#include <mutex>

namespace cresset {

namespace {

constexpr int kSlots = static_cast<int>(DeviceType::MaxRegistered) + 1;
constexpr int kFirst = static_cast<int>(DeviceType::FirstRegistered);

constexpr int kPrivate = static_cast<int>(DeviceType::PrivateUse1);
constexpr const char* kBuiltIn[kPrivate] = {"cpu", "cuda",   "meta",  "mkldnn", "opengl", "opencl", "ideep", "hip",  "fpga", "maia",
                                            "xla", "vulkan", "metal", "xpu",    "mps",    "hpu",    "ve",    "lazy", "ipu",  "mtia"};

struct Names {
  std::mutex mutex;
  std::string registered[kSlots];
  std::string private_use = "privateuseone";
  bool private_use_named = false;
  int count = kFirst;
};

Names& names() {
  static Names* n = new Names;
  return *n;
}

bool is_identifier(const std::string& name) {
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0]))) return false;
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

// The type of this name, or -1; the mutex of the names is held.
int find_type(const Names& all, const std::string& name) {
  if (all.private_use_named && name == all.private_use) return kPrivate;
  for (int i = 0; i < kPrivate; i++)
    if (name == kBuiltIn[i]) return i;
  if (name == "privateuseone") return kPrivate;
  for (int i = kFirst; i < all.count; i++)
    if (all.registered[i] == name) return i;
  return -1;
}

}  // namespace

const char* device_type_name(DeviceType t) {
  const int i = static_cast<int>(t);
  if (i < kPrivate) return kBuiltIn[i];
  return i == kPrivate ? names().private_use.c_str() : names().registered[i].c_str();
}

DeviceType register_device_type(const std::string& name) {
  CRESSET_CHECK(is_identifier(name), "register_device_type: expected an identifier such as \"mydevice\", got \"", name, "\"");
  Names& all = names();
  std::lock_guard<std::mutex> lock(all.mutex);
  const int found = find_type(all, name);
  if (found >= 0) return static_cast<DeviceType>(found);
  CRESSET_CHECK(all.count < kSlots, "register_device_type: no slot left for \"", name, "\", ", kSlots - kFirst, " are registered");
  all.registered[all.count] = name;
  return static_cast<DeviceType>(all.count++);
}

void register_privateuse1_backend(const std::string& name) {
  CRESSET_CHECK(is_identifier(name), "register_privateuse1_backend: expected an identifier such as \"mydevice\", got \"", name, "\"");
  Names& all = names();
  std::lock_guard<std::mutex> lock(all.mutex);
  const int found = find_type(all, name);
  // Of PyTorch's names those that nothing here serves are free.
  const bool served = found == static_cast<int>(kCPU) || found == static_cast<int>(kCUDA) || found == static_cast<int>(kMeta) || found >= kFirst;
  CRESSET_CHECK(!served, "register_privateuse1_backend: \"", name, "\" is the name of another device type");
  CRESSET_CHECK(!all.private_use_named || all.private_use == name, "register_privateuse1_backend: got \"", name, "\", but the backend is already called \"",
                all.private_use, "\"");
  all.private_use = name;
  all.private_use_named = true;
}

bool is_privateuse1_backend_registered() { return names().private_use_named; }

std::string get_privateuse1_backend(bool lower_case) {
  std::string name = names().private_use;
  for (char& c : name) c = static_cast<char>(lower_case ? std::tolower(static_cast<unsigned char>(c)) : std::toupper(static_cast<unsigned char>(c)));
  return name;
}

bool isValidDeviceType(DeviceType t) {
  const int i = static_cast<int>(t);
  return i >= 0 && (i <= kPrivate || (i >= kFirst && i < names().count));
}

std::string DeviceTypeName(DeviceType t, bool lower_case) {
  std::string name = device_type_name(t);
  if (!lower_case)
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Device::Device(const std::string& text) : type_(DeviceType::CPU), index_(-1) {
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  Names& all = names();
  std::unique_lock<std::mutex> lock(all.mutex);
  const int found = find_type(all, type);
  lock.unlock();
  const bool known = found >= 0;
  if (known) type_ = static_cast<DeviceType>(found);
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
