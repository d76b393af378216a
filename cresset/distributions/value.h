#pragma once
// The parameter type of distributions, constraints and transforms: a tensor or a number.

#include <optional>
#include <string>
#include <vector>

#include "cresset/tensor.h"

namespace cresset::distributions {

using Shape = std::vector<int64_t>;

// A tensor, a number, or nothing (`{}`, std::nullopt, an undefined tensor). Numbers take the dtype of the tensors beside them.
class TensorOrNumber {
 public:
  TensorOrNumber() = default;
  TensorOrNumber(std::nullopt_t) {}
  TensorOrNumber(Tensor tensor) : tensor_(std::move(tensor)) {}
  TensorOrNumber(const Scalar& number) : number_(number), is_number_(true) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> TensorOrNumber(T number) : TensorOrNumber(Scalar(number)) {}

  bool is_number() const { return is_number_; }
  bool is_tensor() const { return tensor_.defined(); }
  bool is_given() const { return is_number_ || tensor_.defined(); }
  const Tensor& tensor() const { return tensor_; }
  const Scalar& number() const { return number_; }

 private:
  Tensor tensor_;
  Scalar number_;
  bool is_number_ = false;
};

// The values as tensors of one shape; numbers take the dtype and device of the first tensor, else the default dtype.
CRESSET_API std::vector<Tensor> broadcast_all(std::initializer_list<TensorOrNumber> values);
// Probabilities held within [eps, 1 - eps] of their dtype.
CRESSET_API Tensor clamp_probs(const Tensor& probs);
// The sigmoid of log odds where `is_binary`, else the softmax of log probabilities over the last dimension.
CRESSET_API Tensor logits_to_probs(const Tensor& logits, bool is_binary = false);
// The log odds of probabilities where `is_binary`, else their logarithms; probabilities are clamped first.
CRESSET_API Tensor probs_to_logits(const Tensor& probs, bool is_binary = false);
// The lower triangle of square matrices, row after row, as vectors, and back.
CRESSET_API Tensor tril_matrix_to_vec(const Tensor& matrix, int64_t diag = 0);
CRESSET_API Tensor vec_to_tril_matrix(const Tensor& vec, int64_t diag = 0);

}  // namespace cresset::distributions
