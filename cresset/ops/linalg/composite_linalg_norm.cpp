// Powers and the exponential of matrices, norms, and condition numbers.

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "cresset/core/batched.h"
#include "cresset/core/layers.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/linalg/linalg.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

// The dimension of a matrix norm, and the matrices moved to the end.
struct Norm {
  const char* op;
  Tensor matrices;
  DimVector dims;
  bool keepdim;

  Norm(const char* name, const Tensor& self, IntArrayRef dim, bool keep, std::optional<ScalarType> dtype) : op(name), keepdim(keep) {
    CRESSET_CHECK(self.dim() >= 2, op, ": expected a matrix or a batch of them, got shape ", self.sizes());
    check_norm_dtype(op, self, dtype);
    CRESSET_CHECK(dim.size() == 2, op, ": dim must be a 2-tuple, got ", dim);
    dims = DimVector{wrap_dim(dim[0], self.dim()), wrap_dim(dim[1], self.dim())};
    CRESSET_CHECK(dims[0] != dims[1], op, ": dims must be different, got ", dim);
    matrices = dtype ? self.to(*dtype) : self;
  }
  static void check_norm_dtype(const char* op, const Tensor& self, std::optional<ScalarType> dtype) {
    const ScalarType t = dtype.value_or(self.scalar_type());
    CRESSET_CHECK(is_floating_type(t) || is_complex_type(t), op, ": expected a floating or complex dtype, got ", t);
    CRESSET_CHECK(!dtype || is_complex_type(*dtype) == self.is_complex(), op, ": dtype should be ",
                  self.is_complex() ? "complex for complex inputs" : "real for real inputs", ", got ", t);
    CRESSET_CHECK(!dtype || promote_types(self.scalar_type(), *dtype) == *dtype, op, ": the dtype of the input (", self.scalar_type(),
                  ") would be narrowed by the given dtype (", t, ")");
  }

  // Sums of absolute values along dims[0] (or 1), then the most (or least) of them.
  Tensor by_sums(int64_t along, bool most) const {
    const int64_t sum = dims[along], other = dims[1 - along];
    const Tensor sums = cresset::linalg_vector_norm(matrices, 1, IntArrayRef(sum), keepdim);
    const int64_t left = !keepdim && other > sum ? other - 1 : other;
    if (most && sums.size(left) == 0) return sums.sum(IntArrayRef(left), keepdim);  // the most of nothing is 0
    return most ? sums.amax(IntArrayRef(left), keepdim) : sums.amin(IntArrayRef(left), keepdim);
  }
  template <class F> Tensor by_values(F&& reduce) const {
    const Tensor last = matrices.movedim(dims, {-2, -1});
    Tensor result = reduce(cresset::linalg_svdvals(last));
    if (!keepdim) return result;
    result = result.unsqueeze(std::min(dims[0], dims[1]));
    return result.unsqueeze(std::max(dims[0], dims[1]));
  }
};

Tensor reduced_norm(const Norm& norm, const Scalar& ord) {
  const double p = ord.to<double>();
  const double size = std::abs(p);
  CRESSET_CHECK(size == 1 || size == 2 || std::isinf(size), norm.op, ": order ", ord, " not supported, expected 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'");
  if (size == 2) return norm.by_values([&](const Tensor& s) { return p < 0 ? s.amin(-1) : s.size(-1) == 0 ? s.sum(-1) : s.amax(-1); });
  return norm.by_sums(size == 1 ? 0 : 1, p > 0);
}

Tensor reduced_norm(const Norm& norm, std::string_view ord) {
  CRESSET_CHECK(ord == "fro" || ord == "nuc", norm.op, ": order ", std::string(ord), " not supported, expected 'fro' or 'nuc'");
  if (ord == "fro") return cresset::linalg_vector_norm(norm.matrices, 2, norm.dims, norm.keepdim);
  return norm.by_values([](const Tensor& s) { return s.sum(-1); });
}

// The sum of the powers of a matrix, from the power 0, times numbers; a sixth power follows the third.
Tensor polynomial(const std::vector<Tensor>& powers, std::initializer_list<double> factors) {
  Tensor sum;
  const double* factor = factors.begin();
  for (size_t i = 0; i < factors.size(); i++, factor++) {
    if (*factor == 0) continue;
    if (sum.defined()) sum.add_(powers[i] * *factor);  // two roundings, as PyTorch has
    else sum = powers[i] * *factor;
  }
  return sum;
}

// Scaling and squaring around the Taylor polynomial of degree 18 in five products (P. Bader, S. Blanes and F. Casas, "Computing the matrix
// exponential with an optimized Taylor polynomial approximation", 2019). Its backward error is below the unit roundoff up to the norms here.
Tensor exponential(const Tensor& self) {
  const ScalarType t = self.scalar_type();
  const double limit = to_real_type(t) == kDouble ? 1.090863719290036 : 3.010066362817634;
  const Tensor norm = self.abs().sum(-2).amax(-1).to(kDouble);
  Tensor halvings = (norm / limit).log2().ceil().clamp(0, 1100);
  halvings = cresset::where(norm.isfinite(), halvings, cresset::zeros_like(halvings));
  const int64_t most = halvings.max().item().to<int64_t>();
  const Tensor a = most > 0 ? self * halvings.neg().exp2().to(to_real_type(t)).unsqueeze(-1).unsqueeze(-1) : self;
  const Tensor a2 = a.matmul(a), a3 = a.matmul(a2), one = cresset::eye(self.size(-1), self.options()).expand(self.sizes());
  const std::vector<Tensor> powers{one, a, a2, a3, a3.matmul(a3)};
  const Tensor first = polynomial(powers, {0, -0.10036558103014462001, -0.00802924648241156960, -0.00089213849804572995});
  const Tensor second = polynomial(powers, {0, 0, -0.09233646193671185927, -0.01693649390020817171, -0.00001400867981820361});
  const Tensor ninth = first.matmul(second).add_(
      polynomial(powers, {-0.09043168323908105619, -0.06764045190713819075, 0.06759613017704596460, 0.02955525704293155274, -0.00001391802575160607}));
  const Tensor other =
      polynomial(powers, {-10.96763960529620625935, 1.68015813878906197182, 0.05717798464788655127, -0.00698210122488052084, 0.00003349750170860705});
  Tensor result = other.add(ninth).matmul(ninth).add_(
      polynomial(powers, {0, 0.39784974949964507614, 1.36783778460411719922, 0.49828962252538267755, -0.00063789819459472330}));
  for (int64_t i = 0; i < most; i++) result = cresset::where(halvings.gt(i).unsqueeze(-1).unsqueeze(-1), result.matmul(result), result);
  return result;
}

}  // namespace

namespace composite {

Tensor matrix_power(const Tensor& self, int64_t n) {
  check_square("linalg.matrix_power", self);
  if (n == 0) {
    const Tensor one = cresset::eye(self.size(-1), self.options()).expand(self.sizes());
    if (!layer_state().grad_mode || !self.requires_grad()) return one.clone(MemoryFormat::Contiguous);
    return cresset::where(cresset::zeros({}, self.options().dtype(kBool)), self, one);  // the derivative is 0, not absent
  }
  if (n == 1) return self.clone();
  if (n < 0) {
    check_inexact("linalg.matrix_power", self);
    if (n == -1) return cresset::linalg_inv(self);
  }
  Tensor square = n < 0 ? cresset::linalg_inv(self) : self, result;
  for (uint64_t left = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n); left > 0; left >>= 1) {
    if (left & 1) result = result.defined() ? result.matmul(square) : square;
    if (left > 1) square = square.matmul(square);
  }
  return result;
}

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  return reduced_norm(Norm("linalg.matrix_norm", self, dim, keepdim, dtype), ord);
}
Tensor linalg_matrix_norm(const Tensor& self, std::string_view ord, IntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  return reduced_norm(Norm("linalg.matrix_norm", self, dim, keepdim, dtype), ord);
}

Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const char* op = "linalg.norm";
  if (dim) CRESSET_CHECK(dim.value().size() == 1 || dim.value().size() == 2, op, ": expected one or two dimensions in dim, got ", dim.value());
  else if (ord) CRESSET_CHECK(self.dim() == 1 || self.dim() == 2, op, ": expected a vector or a matrix where dim is not given, got ", self.dim(), "D");
  if (ord && (dim ? dim.value().size() == 2 : self.dim() == 2)) {
    const DimVector last{-2, -1};
    return cresset::linalg_matrix_norm(self, *ord, dim ? dim.value() : IntArrayRef(last), keepdim, dtype);
  }
  if (dim || self.dim() == 0 || ord) return cresset::linalg_vector_norm(self, ord.value_or(2), dim, keepdim, dtype);
  return cresset::linalg_vector_norm(self, 2, std::nullopt, keepdim, dtype);
}
Tensor linalg_norm(const Tensor& self, std::string_view ord, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const char* op = "linalg.norm";
  if (dim) CRESSET_CHECK(dim.value().size() == 2, op, ": if dim is specified, it must be of length 2 for ord '", std::string(ord), "', got ", dim.value());
  else CRESSET_CHECK(self.dim() == 2, op, ": expected a matrix where dim is not given, for ord '", std::string(ord), "', got ", self.dim(), "D");
  const DimVector last{-2, -1};
  return cresset::linalg_matrix_norm(self, ord, dim ? dim.value() : IntArrayRef(last), keepdim, dtype);
}

Tensor nuclear_norm(const Tensor& self, bool keepdim) { return cresset::linalg_matrix_norm(self, std::string_view("nuc"), {-2, -1}, keepdim); }
Tensor nuclear_norm(const Tensor& self, IntArrayRef dim, bool keepdim) { return cresset::linalg_matrix_norm(self, std::string_view("nuc"), dim, keepdim); }
Tensor frobenius_norm(const Tensor& self, IntArrayRef dim, bool keepdim) {
  CRESSET_CHECK(dim.size() <= 2, "frobenius_norm: expected at most 2 dimensions, but got ", static_cast<int64_t>(dim.size()), " dimensions instead");
  return cresset::linalg_vector_norm(self, 2, dim.size() ? OptionalIntArrayRef(dim) : OptionalIntArrayRef(), keepdim);
}

Tensor linalg_cond(const Tensor& self, const std::optional<Scalar>& p) {
  const char* op = "linalg.cond";
  check_matrix(op, self);
  check_inexact(op, self);
  const double order = p ? p->to<double>() : 2;
  if (std::abs(order) == 2) {
    const Tensor s = cresset::linalg_svdvals(self);
    if (s.size(-1) == 0) return cresset::zeros(batch_of(self), s.options());
    const Tensor most = s.select(-1, 0), least = s.select(-1, -1);
    return order > 0 ? most / least : least / most;
  }
  if (self.numel() == 0) return cresset::zeros(batch_of(self), self.options().dtype(to_real_type(self.scalar_type())));
  check_square(op, self);
  const auto [inverse, info] = cresset::linalg_inv_ex(self, false);
  const Tensor result = cresset::linalg_matrix_norm(self, *p) * cresset::linalg_matrix_norm(inverse, *p);
  return known_any(info.ne(0)) ? result.masked_fill(info.ne(0), INFINITY) : result;
}

Tensor linalg_cond(const Tensor& self, std::string_view p) {
  const char* op = "linalg.cond";
  check_square(op, self);
  check_inexact(op, self);
  CRESSET_CHECK(p == "fro" || p == "nuc", op, ": p=", std::string(p), " not supported, expected 'fro' or 'nuc'");
  if (self.numel() == 0) return cresset::zeros(batch_of(self), self.options().dtype(to_real_type(self.scalar_type())));
  if (p == "nuc") {
    const Tensor s = cresset::linalg_svdvals(self);
    return s.sum(-1) * s.reciprocal().sum(-1);
  }
  const auto [inverse, info] = cresset::linalg_inv_ex(self, false);
  const Tensor result = cresset::linalg_matrix_norm(self, p) * cresset::linalg_matrix_norm(inverse, p);
  return known_any(info.ne(0)) ? result.masked_fill(info.ne(0), INFINITY) : result;
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  CRESSET_CHECK(x.is_floating_point() || x.is_complex(), "linalg.vecdot: expected a floating or complex dtype, got ", x.scalar_type());
  CRESSET_CHECK(x.scalar_type() == y.scalar_type(), "linalg.vecdot: expected x and y of one dtype, got ", x.scalar_type(), " and ", y.scalar_type());
  return (x.conj() * y).sum(dim);
}

}  // namespace composite

namespace meta {

OutSpec matrix_exp(const Tensor& self) {
  const char* op = "linalg.matrix_exp";
  check_square(op, self);
  const ScalarType t = self.scalar_type();
  CRESSET_CHECK(is_floating_type(t) || is_complex_type(t), op, ": expected a floating or complex dtype, got ", t);
  return {self.sizes(), t, self.device()};
}

}  // namespace meta

namespace cpu {

void matrix_exp(const Tensor& self, const Tensor& out) {
  const ScalarType t = self.scalar_type();
  if (self.numel() == 0) return;
  overwrite(out, t == kHalf || t == kBFloat16 ? exponential(self.to(kFloat)) : exponential(self));
}

}  // namespace cpu

}  // namespace cresset::ops
