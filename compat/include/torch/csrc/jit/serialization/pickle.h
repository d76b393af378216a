#pragma once
// Values as bytes that torch.load reads, and back.

#include <string>
#include <vector>

#include "cresset/io/value.h"
#include "torch/detail/containers.h"

namespace torch::jit {

// Tensors lie within the bytes: a table for them stays as it is.
inline std::vector<char> pickle(const c10::IValue& value, std::vector<at::Tensor>* = nullptr) { return cresset::pickle_save(value); }
inline std::vector<char> pickle_save(const c10::IValue& value) { return cresset::pickle_save(value); }
inline c10::IValue unpickle(const char* data, size_t size) { return cresset::pickle_load(std::vector<char>(data, data + size)); }
inline c10::IValue pickle_load(const std::vector<char>& data) { return cresset::pickle_load(data); }

}  // namespace torch::jit
