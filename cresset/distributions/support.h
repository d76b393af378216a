#pragma once
// Shared by the distributions; not for users.

#include "cresset/distributions/distribution.h"

namespace cresset::distributions {

struct Finfo {
  double eps, tiny, lowest;
};
Finfo finfo(ScalarType t);

Shape join(IntArrayRef a, IntArrayRef b);
// The last `count` entries, and all before them; as Python slices, no more than there are.
inline IntArrayRef last(IntArrayRef shape, size_t count) { return count < shape.size() ? shape.slice(shape.size() - count) : shape; }
inline IntArrayRef but_last(IntArrayRef shape, size_t count) { return shape.slice(0, count < shape.size() ? shape.size() - count : 0); }
Shape broadcast_shapes(std::initializer_list<IntArrayRef> shapes);
// Whether both broadcast against each other, from the back, as far as both go.
bool fit(IntArrayRef a, IntArrayRef b);
int64_t product(IntArrayRef shape);

// The sum over the last `dims` dimensions.
Tensor sum_rightmost(const Tensor& value, int64_t dims);
Tensor all_rightmost(const Tensor& inside, int64_t dims);
bool all_true(const Tensor& t);
Tensor standard_normal(IntArrayRef shape, const TensorOptions& options);
Tensor uniform_tensor(IntArrayRef shape, const TensorOptions& options, double from, double to);
Tensor number_tensor(const TensorOrNumber& value, const TensorOptions& options);
// `values` in front of as many dimensions as the batch has, expanded to it where asked for.
Tensor along_batch(const Tensor& values, IntArrayRef batch_shape, bool expand);
// log C of a ContinuousBernoulli: its density is C probs^x (1 - probs)^(1 - x).
Tensor continuous_bernoulli_log_norm(const Distribution& distribution);
Tensor binary_entropy(const Tensor& logits, const Tensor& target);

// Python's text of things.
std::string number_text(const Scalar& number);
std::string tensor_text(const Tensor& tensor);
std::string format_text(const TensorOrNumber& value);  // f"{value}"
std::string size_text(IntArrayRef shape);              // torch.Size([2, 3])
std::string tuple_text(IntArrayRef shape);             // (2, 3)
void warn(const std::string& message);
// "KIND: WHAT, a Tensor of shape S, is outside its constraint, "
std::string outside_text(const DistributionImpl& distribution, const std::string& what, const Tensor& value);

constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286060;
constexpr double kInfinity = __builtin_huge_val();
constexpr double kNan = __builtin_nan("");

}  // namespace cresset::distributions
