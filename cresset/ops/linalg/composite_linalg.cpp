// Solvers, inverses and determinants over the factorisations of linalg.cpp.

#include <cmath>

#include "cresset/base/warning.h"
#include "cresset/core/layers.h"
#include "cresset/ops/differentiates.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/linalg/linalg.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

Tensor triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true, bool unit = false) {
  return cresset::linalg_solve_triangular(a, b, upper, left, unit);
}

// The rows of b in another order, laid out column by column. order: (..., n) for b of (..., n, columns), both broadcast.
Tensor reorder_rows(const Tensor& b, const Tensor& order) {
  const DimVector batch = broadcast_shapes(batch_of(b), order.sizes().slice(0, order.dim() - 1));
  const Tensor columns = b.expand(with_matrix(batch, b.size(-2), b.size(-1))).transpose(-2, -1);
  return columns.gather(-1, order.unsqueeze(-2).expand(columns.sizes())).transpose(-2, -1);
}

// A^-1 b, or A^-T b, for the A that these are the factors of.
Tensor solve_factored(const Tensor& lu, const Tensor& permutation, const Tensor& b, bool transposed) {
  if (!transposed) return triangular(lu, triangular(lu, reorder_rows(b, permutation), false, true, true), true);
  const Tensor upper = lu.transpose(-2, -1);
  return reorder_rows(triangular(upper, triangular(upper, b, false), true, true, true), permutation.argsort(-1, false));
}

Tensor solve_by(const Tensor& lu, const Tensor& permutation, const Tensor& b, bool left, bool adjoint) {
  const Tensor factors = adjoint ? lu.conj() : lu;
  if (left) return solve_factored(factors, permutation, b, adjoint);
  // X A = B is A^T X^T = B^T.
  return solve_factored(factors, permutation, b.transpose(-2, -1), !adjoint).transpose(-2, -1);
}

// B is a vector for each matrix, rather than columns side by side.
bool is_vector(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  const IntArrayRef expected = a.sizes().slice(0, a.dim() - 1);
  return a.dim() - 1 == b.dim() && b.sizes() == expected;
}

Tensor sign_of(const Tensor& pivots, ScalarType dtype) {
  const Tensor exchanged = cresset::ne(pivots, cresset::arange(1, pivots.size(-1) + 1, pivots.options()));
  return exchanged.sum(-1).remainder(2).mul(-2).add(1).to(dtype);
}

// The determinant near a singular A, to second order: det A = det U det(M) det V^H for M = U^H A V of the singular vectors, where M is
// diagonal and det M = prod m_ii - sum_{i<j} m_ij m_ji prod_{k != i, j} m_kk + O(3).
Tensor singular_determinant(const Tensor& a) {
  const auto [u, s, vh] = cresset::_linalg_svd(a.detach(), true, true);
  const int64_t n = a.size(-1);
  const Tensor outside = cresset::linalg_det(u) * cresset::linalg_det(vh);
  const Tensor m = u.adjoint().matmul(a).matmul(vh.adjoint()), diagonal = m.diagonal(0, -2, -1);
  Tensor inside = diagonal.prod(-1);
  if (n > 1) {
    const Tensor first = cresset::triu_indices(n, n, 1, kLong).select(0, 0), second = cresset::triu_indices(n, n, 1, kLong).select(0, 1);
    const Tensor all = cresset::arange(n), used = all.eq(first.unsqueeze(-1)).logical_or(all.eq(second.unsqueeze(-1)));
    const Tensor others = diagonal.unsqueeze(-2).masked_fill(used, 1).prod(-1);
    const Tensor flat = m.flatten(-2);
    inside = inside - (flat.index_select(-1, first * n + second) * flat.index_select(-1, second * n + first) * others).sum(-1);
  }
  return outside * inside;
}

}  // namespace

namespace composite {

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor linalg_cholesky(const Tensor& self, bool upper) {
  const auto [l, info] = cresset::linalg_cholesky_ex(self, upper, false);
  check_info("linalg.cholesky", info, Failure::not_positive_definite);
  return l;
}

Tensor cholesky(const Tensor& self, bool upper) {
  CRESSET_WARN_ONCE("cholesky is deprecated; use linalg.cholesky, with .mH for the upper factor");
  const auto [l, info] = cresset::linalg_cholesky_ex(self, upper, false);
  check_info("cholesky", info, Failure::not_positive_definite);
  return l;
}

Tensor cholesky_inverse(const Tensor& self, bool upper) {
  check_square("cholesky_inverse", self);
  check_inexact("cholesky_inverse", self);
  const Tensor factor = upper ? self.adjoint() : self;
  return triangular(factor.adjoint(), triangular(factor, cresset::eye(self.size(-1), self.options()), false), true);
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  CRESSET_CHECK(self.dim() >= 2, "cholesky_solve: b should have at least 2 dimensions, got shape ", self.sizes());
  check_square("cholesky_solve", input2, "u");
  const Tensor factor = upper ? input2.adjoint() : input2;
  return triangular(factor.adjoint(), triangular(factor, self, false), true);
}

Two linalg_lu_factor(const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = cresset::linalg_lu_factor_ex(a, pivot, false);
  check_info("linalg.lu_factor", info, Failure::singular_factor);
  return {lu, pivots};
}

Three _lu_with_info(const Tensor& self, bool pivot, bool check_errors) { return cresset::linalg_lu_factor_ex(self, pivot, check_errors); }

Three lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  check_matrix("lu_unpack", lu, "LU_data");
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const Tensor none = cresset::empty({0}, lu.options());
  Tensor p = none, l = none, u = none;
  if (unpack_pivots) {
    CRESSET_CHECK(pivots.scalar_type() == kInt, "lu_unpack: expected LU_pivots of dtype int32, got ", pivots.scalar_type());
    CRESSET_CHECK(pivots.dim() == lu.dim() - 1 && batch_of(lu) == pivots.sizes().slice(0, pivots.dim() - 1) && pivots.size(-1) == k,
                  "lu_unpack: expected pivots of ", k, " numbers for each matrix, got shapes ", lu.sizes(), " and ", pivots.sizes());
    const Tensor from = permutation_of(pivots, m);
    p = from.unsqueeze(-2).eq(cresset::arange(m, from.options()).unsqueeze(-1)).to(lu.scalar_type());
  }
  if (unpack_data) {
    const Tensor lower = lu.narrow(-1, 0, k).tril(-1);
    l = (lower + cresset::eye(m, k, lu.options())).contiguous();
    u = lu.narrow(-2, 0, k).triu().contiguous();
  }
  return {p, l, u};
}

Two linalg_ldl_factor(const Tensor& self, bool hermitian) {
  const auto [ld, pivots, info] = cresset::linalg_ldl_factor_ex(self, hermitian, false);
  check_info("linalg.ldl_factor", info, Failure::singular_ldl);
  return {ld, pivots};
}

Three linalg_lu(const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = cresset::linalg_lu_factor_ex(a, pivot, false);
  return cresset::lu_unpack(lu, pivots);
}

Tensor linalg_lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  const char* op = "linalg.lu_solve";
  check_square(op, lu, "LU");
  check_matrix(op, b, "B");
  check_same_kind(op, lu, b);
  check_inexact(op, lu);
  CRESSET_CHECK(pivots.scalar_type() == kInt, op, ": expected pivots of dtype int32, got ", pivots.scalar_type());
  CRESSET_CHECK(pivots.dim() == lu.dim() - 1 && pivots.sizes() == lu.sizes().slice(0, lu.dim() - 1), op,
                ": expected a pivot for each row of each matrix, got shapes ", lu.sizes(), " and ", pivots.sizes());
  CRESSET_CHECK(lu.size(-1) == b.size(left ? -2 : -1), op, ": incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", ", got ",
                lu.sizes(), " and ", b.sizes());
  return solve_by(lu, permutation_of(lu, pivots), b, left, adjoint);
}

Tensor lu_solve(const Tensor& self, const Tensor& lu, const Tensor& pivots) { return cresset::linalg_lu_solve(lu, pivots, self); }

Two linalg_solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  const char* op = "linalg.solve";
  check_square(op, a);
  check_inexact(op, a);
  check_same_kind(op, a, b);
  CRESSET_CHECK(b.dim() > 0, op, ": input B must have at least 1 dimension, got a number");
  const bool vector = is_vector(a, b);
  CRESSET_CHECK(!vector || left, op, ": vectors cannot be solved for with left=False, got A of shape ", a.sizes(), " and B of shape ", b.sizes());
  const Tensor right = vector ? b.unsqueeze(-1) : b;
  CRESSET_CHECK(a.size(-1) == right.size(left ? -2 : -1), op, ": incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", ", got ",
                a.sizes(), " and ", b.sizes());
  broadcast_shapes(batch_of(a), batch_of(right));
  const auto [lu, pivots, info] = cresset::linalg_lu_factor_ex(a, true, false);
  if (check_errors) check_info("linalg.solve_ex", info, Failure::singular_solve);
  Tensor x = left ? small_solution(lu, pivots, right) : Tensor();
  if (!x.defined()) x = solve_by(lu, permutation_of(lu, pivots), right, left, false);
  if (!vector) return {x, info};
  // Vectors of a batch lie as the columns of one matrix, as in PyTorch.
  const Tensor vectors = x.squeeze(-1);
  return {vectors.dim() < 2 ? vectors : vectors.transpose(-2, -1).clone(MemoryFormat::Contiguous).transpose(-2, -1), info};
}

Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) {
  const auto [x, info] = cresset::linalg_solve_ex(a, b, left, false);
  check_info("linalg.solve", info, Failure::singular_solve);
  return x;
}

Two triangular_solve(const Tensor& self, const Tensor& a, bool upper, bool transpose, bool unitriangular) {
  CRESSET_WARN_ONCE("triangular_solve is deprecated; use linalg.solve_triangular, whose arguments come in the other order");
  check_square("triangular_solve", a);
  CRESSET_CHECK(self.dim() >= 2, "triangular_solve: expected b to have at least 2 dimensions, got shape ", self.sizes());
  const Tensor x = triangular(transpose ? a.transpose(-2, -1) : a, self, transpose ? !upper : upper, true, unitriangular);
  const Tensor all = a.expand(with_matrix(batch_of(x), a.size(-2), a.size(-1)));
  return {x, all.transpose(-2, -1).clone(MemoryFormat::Contiguous).transpose(-2, -1)};
}

Two linalg_inv_ex(const Tensor& a, bool check_errors) {
  check_square("linalg.inv", a);
  check_inexact("linalg.inv", a);
  const auto [lu, pivots, info] = cresset::linalg_lu_factor_ex(a, true, false);
  if (check_errors) check_info("linalg.inv_ex", info, Failure::singular_inverse);
  if (const Tensor x = small_solution(lu, pivots); x.defined()) return {x, info};
  return {solve_by(lu, permutation_of(lu, pivots), cresset::eye(a.size(-1), a.options()), true, false), info};
}

Tensor linalg_inv(const Tensor& a) {
  const auto [x, info] = cresset::linalg_inv_ex(a, false);
  check_info("linalg.inv", info, Failure::singular_inverse);
  return x;
}
Tensor inverse(const Tensor& self) { return cresset::linalg_inv(self); }

Tensor linalg_det(const Tensor& a) {
  check_square("linalg.det", a);
  check_inexact("linalg.det", a);
  if (a.size(-1) == 1) return a.select(-1, 0).select(-1, 0).clone();
  const auto [lu, pivots, info] = cresset::linalg_lu_factor_ex(a, true, false);
  const Tensor diagonal = lu.diagonal(0, -2, -1);
  // Through U's inverse a singular matrix has no derivative, although the determinant does.
  if (differentiates(a) && a.size(-1) > 0) {
    const Tensor sizes = diagonal.detach().abs();
    if (known_any(sizes.amin(-1).le(sizes.amax(-1) * (to_real_type(a.scalar_type()) == kFloat ? 1e-6 : 1e-14)))) return singular_determinant(a);
  }
  return diagonal.prod(-1) * sign_of(pivots, a.scalar_type());
}
Tensor det(const Tensor& self) { return cresset::linalg_det(self); }

Two linalg_slogdet(const Tensor& a) {
  check_square("linalg.slogdet", a);
  check_inexact("linalg.slogdet", a);
  const auto [lu, pivots, info] = cresset::linalg_lu_factor_ex(a, true, false);
  const Tensor diagonal = lu.diagonal(0, -2, -1);
  return {diagonal.sgn().prod(-1) * sign_of(pivots, a.scalar_type()), diagonal.abs().log().sum(-1)};
}
Two slogdet(const Tensor& self) { return cresset::linalg_slogdet(self); }

Tensor logdet(const Tensor& self) {
  const auto [sign, logabsdet] = cresset::linalg_slogdet(self);
  if (self.is_complex()) return sign.log() + logabsdet;
  return cresset::where(sign.eq(-1), NAN, logabsdet);
}

Tensor linalg_tensorinv(const Tensor& self, int64_t ind) {
  CRESSET_CHECK(ind > 0, "linalg.tensorinv: expected a strictly positive integer for 'ind', got ", ind);
  CRESSET_CHECK(ind <= self.dim(), "linalg.tensorinv: ind=", ind, " exceeds the dimensions of an input of shape ", self.sizes());
  const IntArrayRef first = self.sizes().slice(0, ind), last = self.sizes().slice(ind, self.dim() - ind);
  int64_t rows = 1, columns = 1;
  for (const int64_t n : first) rows *= n;
  for (const int64_t n : last) columns *= n;
  CRESSET_CHECK(rows == columns, "linalg.tensorinv: expected as many elements before dimension ind as from it on, got ", columns, " and ", rows);
  DimVector sizes(last);
  for (const int64_t n : first) sizes.push_back(n);
  return cresset::linalg_inv(self.reshape({rows, columns})).reshape(sizes);
}

Tensor linalg_tensorsolve(const Tensor& self, const Tensor& other, OptionalIntArrayRef dims) {
  Tensor a = self;
  if (dims) {
    DimVector to;
    const int64_t count = static_cast<int64_t>(dims.value().size());
    for (int64_t i = 0; i < count; i++) to.push_back(self.dim() - count + i);
    a = self.movedim(dims.value(), to);
  }
  CRESSET_CHECK(a.dim() >= other.dim(), "linalg.tensorsolve: expected self to have at least as many dimensions as other, got shapes ", self.sizes(), " and ",
                other.sizes());
  const DimVector sizes(a.sizes().slice(other.dim(), a.dim() - other.dim()));
  int64_t unknowns = 1;
  for (const int64_t n : sizes) unknowns *= n;
  CRESSET_CHECK(unknowns == other.numel(), "linalg.tensorsolve: expected as many unknowns as elements of other, got ", unknowns, " and ", other.numel());
  return cresset::linalg_solve(a.reshape({unknowns, unknowns}), other.flatten()).reshape(sizes);
}

}  // namespace composite

}  // namespace cresset::ops
