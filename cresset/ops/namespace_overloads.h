#pragma once
// Overloads that LibTorch accepts beyond the schemas; included by the generated namespaces.h.

#include "cresset/ops/functions.h"

namespace cresset::fft {
// Options may follow the count.
inline Tensor fftfreq(int64_t n, const TensorOptions& options) { return cresset::fft_fftfreq(n, 1.0, options); }
inline Tensor rfftfreq(int64_t n, const TensorOptions& options) { return cresset::fft_rfftfreq(n, 1.0, options); }
}  // namespace cresset::fft

namespace cresset::linalg {
// Beside a number a literal would be as good a bool as a string.
inline Tensor norm(const Tensor& self, const char* ord, OptionalIntArrayRef dim = std::nullopt, bool keepdim = false, std::optional<ScalarType> dtype = {}) {
  return cresset::linalg_norm(self, std::string_view(ord), dim, keepdim, dtype);
}
inline Tensor& norm_out(Tensor& out, const Tensor& self, const char* ord, OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                        std::optional<ScalarType> dtype = {}) {
  return cresset::linalg_norm_out(out, self, std::string_view(ord), dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& self, const char* ord, IntArrayRef dim = {-2, -1}, bool keepdim = false, std::optional<ScalarType> dtype = {}) {
  return cresset::linalg_matrix_norm(self, std::string_view(ord), dim, keepdim, dtype);
}
inline Tensor& matrix_norm_out(Tensor& out, const Tensor& self, const char* ord, IntArrayRef dim = {-2, -1}, bool keepdim = false,
                               std::optional<ScalarType> dtype = {}) {
  return cresset::linalg_matrix_norm_out(out, self, std::string_view(ord), dim, keepdim, dtype);
}
}  // namespace cresset::linalg
