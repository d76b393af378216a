#pragma once
// Parametrisations ready to use: orthogonal matrices, weight and spectral normalisation. (Python: torch.nn.utils.parametrizations.)

#include "cresset/nn/layers/conv.h"
#include "cresset/nn/utils/parametrize.h"

namespace cresset::nn::utils::parametrizations {

namespace detail {

class CRESSET_API OrthogonalImpl : public Cloneable<OrthogonalImpl> {
 public:
  enum class Map : uint8_t { matrix_exp, cayley, householder };
  OrthogonalImpl(const Tensor& weight, Map map, bool use_trivialization);
  void reset() override;
  Tensor forward(const Tensor& x);
  Tensor right_inverse(const Tensor& q);

  // The factor of the matrix; undefined until right_inverse, and without trivialisation.
  Tensor base;

 private:
  std::vector<int64_t> shape_;
  Map map_;
  bool trivialized_;
};

class CRESSET_API WeightNormImpl : public Cloneable<WeightNormImpl> {
 public:
  explicit WeightNormImpl(int64_t dim) : dim_(dim) {}
  void reset() override {}
  Tensor forward(const Tensor& length, const Tensor& direction);
  std::vector<Tensor> right_inverse(const Tensor& weight);

 private:
  int64_t dim_;
};

class CRESSET_API SpectralNormImpl : public Cloneable<SpectralNormImpl> {
 public:
  SpectralNormImpl(const Tensor& weight, int64_t n_power_iterations, int64_t dim, double eps);
  void reset() override;
  Tensor forward(const Tensor& weight);
  Tensor right_inverse(const Tensor& value) { return value; }

  // The left and right singular vectors, nearly.
  Tensor u, v;

 private:
  CRESSET_LOCAL Tensor as_matrix(const Tensor& weight) const;
  CRESSET_LOCAL void iterate(const Tensor& matrix, int64_t times);

  TensorOptions options_;
  int64_t rows_ = 0, columns_ = 0, n_power_iterations_, dim_;
  double eps_;
};

// Errors: the module has no tensor of that name.
CRESSET_API const Tensor& weight_of(const char* op, Module& module, const std::string& name);
CRESSET_API std::shared_ptr<OrthogonalImpl> make_orthogonal(const Tensor& weight, const std::string& orthogonal_map, bool use_trivialization);
CRESSET_API bool is_transposed_convolution(const Module& module);

}  // namespace detail

// Makes a matrix, or each of a batch, orthogonal (unitary): its columns, or its rows if there are fewer, are orthonormal. `orthogonal_map`
// says how: "matrix_exp" (the default of square and complex matrices) or "cayley" of a skew matrix, or "householder" (the default of others).
// With `use_trivialization` the result is multiplied by a fixed base, the orthogonalised first value (Lezcano Casado, "Trivializations for
// gradient-based optimization on manifolds", 2019). Errors: another name or map; fewer than two dimensions.
template <class M> M& orthogonal(M& module, const std::string& name = "weight", const std::string& orthogonal_map = {}, bool use_trivialization = true) {
  const Tensor weight = detail::weight_of("orthogonal", nn::detail::module_of(module), name);
  return parametrize::register_parametrization(module, name, detail::make_orthogonal(weight, orthogonal_map, use_trivialization), true);
}
// Splits a weight into its length, for every index of `dim` (-1: one for all), and its direction.
template <class M> M& weight_norm(M& module, const std::string& name = "weight", int64_t dim = 0) {
  return parametrize::register_parametrization(module, name, std::make_shared<detail::WeightNormImpl>(dim), true);
}
// Divides a weight by its largest singular value, followed by power iterations in training. The dimension of outputs is 1 in transposed
// convolutions, else 0. Errors: another name; no iterations; a dimension out of range.
template <class M>
M& spectral_norm(M& module, const std::string& name = "weight", int64_t n_power_iterations = 1, double eps = 1e-12, std::optional<int64_t> dim = std::nullopt) {
  auto& own = nn::detail::module_of(module);
  const Tensor weight = detail::weight_of("spectral_norm", own, name);
  const int64_t along = dim.value_or(detail::is_transposed_convolution(own) ? 1 : 0);
  return parametrize::register_parametrization(module, name, std::make_shared<detail::SpectralNormImpl>(weight, n_power_iterations, along, eps));
}

}  // namespace cresset::nn::utils::parametrizations
