#pragma once
// Calls with generators of programs: they go to the kernels that are registered under CustomRNGKeyId, as calls with tensors of a device go to its.

#include "cresset/core/random/generator.h"
#include "cresset/dispatch/op.h"

namespace cresset::dispatch {

// The backend of these kernels, which no tensor has. An operator without one runs its own, whose sampling refuses the generator.
constexpr uint8_t kGeneratorBackend = 252;
constexpr const char* kGeneratorBackendName = "CustomRNGKeyId";

bool is_of_program(const Generator& generator);

// The key of an operator's arguments with its generator among them. Tensors of other devices keep their kernels, which may know the generator.
template <class... T> CRESSET_ALWAYS_INLINE Key key_of_drawing(const T&... args) {
  Key key;
  const auto add = [&](const auto& arg) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(arg)>, std::optional<Generator>>) key.add(arg);
  };
  const auto add_generator = [&](const auto& arg) {
    if constexpr (std::is_same_v<std::decay_t<decltype(arg)>, std::optional<Generator>>)
      if (CRESSET_UNLIKELY(arg.has_value()) && key.backend == 0 && is_of_program(*arg)) key.backend = kGeneratorBackend;
  };
  (add(args), ...);
  (add_generator(args), ...);
  return key;
}

}  // namespace cresset::dispatch
