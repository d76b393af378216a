// Broadcasting of parameters, probabilities and logits, triangular matrices as vectors, and what else the distributions share.

#include "cresset/distributions/rows.h"
#include "cresset/distributions/support.h"

#include <cmath>
#include <limits>

namespace cresset::distributions {

Finfo finfo(ScalarType t) {
  switch (t) {
    case ScalarType::Double: return {0x1p-52, 0x1p-1022, std::numeric_limits<double>::lowest()};
    case ScalarType::Half: return {0x1p-10, 0x1p-14, -65504.0};
    case ScalarType::BFloat16: return {0x1p-7, 0x1p-126, -0x1.fep127};
    default:
      CRESSET_CHECK_TYPE(t == ScalarType::Float, "distributions: expected floating-point parameters and values, got ", t);
      return {0x1p-23, 0x1p-126, -0x1.fffffep127};
  }
}

Shape join(IntArrayRef a, IntArrayRef b) {
  Shape s(a.begin(), a.end());
  s.insert(s.end(), b.begin(), b.end());
  return s;
}

Shape broadcast_shapes(std::initializer_list<IntArrayRef> shapes) {
  std::vector<Tensor> metas;
  for (const IntArrayRef shape : shapes) metas.push_back(empty_strided(shape, Shape(shape.size(), 0), TensorOptions().device(DeviceType::Meta)));
  return cresset::broadcast_tensors(metas)[0].sizes().vec();
}

bool fit(IntArrayRef a, IntArrayRef b) {
  for (size_t i = 1; i <= a.size() && i <= b.size(); i++) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != 1 && y != 1 && x != y) return false;
  }
  return true;
}

int64_t product(IntArrayRef shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

Tensor sum_rightmost(const Tensor& value, int64_t dims) {
  if (dims == 0) return value;
  return value.reshape(join(but_last(value.sizes(), static_cast<size_t>(dims)), {-1})).sum(-1);
}

Tensor all_rightmost(const Tensor& inside, int64_t dims) { return inside.reshape(join(but_last(inside.sizes(), static_cast<size_t>(dims)), {-1})).all(-1); }

bool all_true(const Tensor& t) { return t.all().item<bool>(); }

Tensor standard_normal(IntArrayRef shape, const TensorOptions& options) { return cresset::normal(zeros(shape, options), ones(shape, options)); }

Tensor uniform_tensor(IntArrayRef shape, const TensorOptions& options, double from, double to) { return empty(shape, options).uniform_(from, to); }

Tensor number_tensor(const TensorOrNumber& value, const TensorOptions& options) {
  return value.is_tensor() ? value.tensor() : scalar_tensor(value.number(), options);
}

std::vector<Tensor> broadcast_all(std::initializer_list<TensorOrNumber> values) {
  TensorOptions options(get_default_dtype());
  for (const TensorOrNumber& v : values)
    if (v.is_tensor()) {
      options = TensorOptions(v.tensor().scalar_type()).device(v.tensor().device());
      break;
    }
  std::vector<Tensor> tensors;
  for (const TensorOrNumber& v : values) {
    CRESSET_CHECK_VALUE(v.is_given(), "broadcast_all: expected tensors and numbers, got none");
    tensors.push_back(number_tensor(v, options));
  }
  return cresset::broadcast_tensors(tensors);
}

Tensor clamp_probs(const Tensor& probs) {
  const double eps = finfo(probs.scalar_type()).eps;
  return probs.clamp(Scalar(eps), Scalar(1 - eps));
}

Tensor logits_to_probs(const Tensor& logits, bool is_binary) { return is_binary ? sigmoid(logits) : softmax(logits, -1); }

Tensor probs_to_logits(const Tensor& probs, bool is_binary) { return _probabilities_to_logits(probs, is_binary); }

namespace {
Tensor below(int64_t n, int64_t diag, const TensorOptions& options) {
  const Tensor places = arange(n, options.dtype(ScalarType::Long));
  return places < places.view({-1, 1}) + (diag + 1);
}
}  // namespace

Tensor tril_matrix_to_vec(const Tensor& matrix, int64_t diag) {
  const int64_t n = matrix.size(-1);
  CRESSET_CHECK_VALUE(-n <= diag && diag < n, "tril_matrix_to_vec: diag is out of range, got ", diag, ", expected ", -n, " to ", n - 1);
  return matrix.index({indexing::Ellipsis, below(n, diag, matrix.options())});
}

Tensor vec_to_tril_matrix(const Tensor& vec, int64_t diag) {
  const int64_t count = vec.size(-1), b = 1 + 2 * diag;
  const double n = (-static_cast<double>(b) + std::sqrt(static_cast<double>(b * b + 8 * count + 4 * std::abs(diag) * (diag + 1)))) / 2;
  const int64_t size = std::lrint(n);
  CRESSET_CHECK_VALUE(std::fabs(n - static_cast<double>(size)) <= finfo(get_default_dtype()).eps, "vec_to_tril_matrix: no square matrix has ", count,
                      " numbers in its lower triangle with diag ", diag);
  Tensor matrix = vec.new_zeros(join(but_last(vec.sizes(), 1), {size, size}));
  matrix.index_put_({indexing::Ellipsis, below(size, diag, vec.options())}, vec);
  return matrix;
}

Tensor along_batch(const Tensor& values, IntArrayRef batch_shape, bool expand) {
  const Tensor column = values.view(join({-1}, Shape(batch_shape.size(), 1)));
  return expand ? column.expand(join({-1}, batch_shape)) : column;
}

Tensor binary_entropy(const Tensor& logits, const Tensor& target) { return binary_cross_entropy_with_logits(logits, target, {}, {}, 0); }

}  // namespace cresset::distributions
