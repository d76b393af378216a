#pragma once
// Generators by LibTorch's names: their state as an object, the default one, and what a process has.

#include <optional>
#include <type_traits>

#include "cresset/base/error.h"
#include "cresset/core/private_hooks.h"
#include "cresset/core/random/generator_impl.h"

namespace cresset {

using CPUGeneratorImpl = GeneratorImpl;

namespace detail {
inline Generator createCPUGenerator(uint64_t seed = RandomState::kSeed) { return make_generator(seed); }
inline Generator& getDefaultCPUGenerator() { return default_generator(); }
}  // namespace detail

// A generator whose state is an object of this class.
template <class Impl, class... Args> Generator make_generator(Args&&... args) {
  return Generator(intrusive_ptr<GeneratorImpl>(make_intrusive<Impl>(std::forward<Args>(args)...)));
}
// Errors: no generator is given, or one whose state is of another class.
template <class Impl> Impl* check_generator(const std::optional<Generator>& generator) {
  CRESSET_CHECK(generator && generator->defined(), "check_generator: expected a generator, got none");
  auto* const impl = dynamic_cast<Impl*>(generator->impl());
  CRESSET_CHECK(impl && (!std::is_same<Impl, GeneratorImpl>::value || !impl->is_of_program()),
                "check_generator: expected a generator of the kernel's class, got one of another");
  return impl;
}
template <class Impl> Impl* get_generator_or_default(const std::optional<Generator>& generator, const Generator& otherwise) {
  return check_generator<Impl>(generator && generator->defined() ? generator : std::optional<Generator>(otherwise));
}

// The generators of this process.
class Context {
 public:
  // Errors: a device without generators.
  const Generator& defaultGenerator(Device device) {
    if (device.is_privateuseone() && has_private_hooks()) return private_hooks().getDefaultGenerator(static_cast<DeviceIndex>(device.index()));
    CRESSET_CHECK(device.is_cpu(), "defaultGenerator: there is none for ", device);
    return default_generator();
  }
  Device getDeviceFromPtr(void* data, DeviceType type) {
    return type == DeviceType::PrivateUse1 && has_private_hooks() ? private_hooks().getDeviceFromPtr(data) : Device(type);
  }
  static bool hasOpenMP() { return false; }
  static bool hasMKL() { return false; }
  static bool hasCUDA() { return false; }
  static bool hasCUDART() { return false; }
  static bool hasCuDNN() { return false; }
  static bool hasHIP() { return false; }
  static bool hasMPS() { return false; }
  static bool hasXPU() { return false; }
  static bool hasMTIA() { return false; }
  static bool hasXLA() { return false; }
};
inline Context& globalContext() {
  static Context context;
  return context;
}

}  // namespace cresset
