#pragma once
#include "torch/csrc/jit/frontend/source_range.h"
#include "torch/detail/script_objects.h"

namespace torch::jit {
// That of a text on its own: names are those of the language.
inline std::shared_ptr<cresset::graph::script::Resolver> nativeResolver() { return nullptr; }
}  // namespace torch::jit
