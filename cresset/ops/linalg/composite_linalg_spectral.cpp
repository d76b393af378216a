// QR, eigenvalues and singular values, what is computed from them, and least squares.

#include "cresset/base/warning.h"
#include "cresset/core/layers.h"
#include "cresset/ops/differentiates.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/linalg/linalg.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace {

double epsilon(const Tensor& a) { return to_real_type(a.scalar_type()) == kFloat ? 1.1920928955078125e-07 : 2.220446049250313e-16; }
Tensor by_columns(const Tensor& t) { return t.transpose(-2, -1).clone(MemoryFormat::Contiguous).transpose(-2, -1); }
Tensor solve_by_triangle(const Tensor& a, const Tensor& b, bool upper) { return cresset::linalg_solve_triangular(a, b, upper); }

// The product of k reflections H_i = I - tau_i v_i v_i^H is I - V T V^H, with T = (I + D S)^-1 D for D = diag(tau) and S the strict
// upper triangle of V^H V (C. Puglisi, "Modification of the Householder method based on the compact WY representation", 1992).
struct Reflections {
  Tensor v, t;
  Reflections(const Tensor& vectors, const Tensor& tau) {
    const int64_t k = tau.size(-1);
    v = vectors.narrow(-1, 0, k).tril(-1) + cresset::eye(vectors.size(-2), k, vectors.options());
    const Tensor d = cresset::diag_embed(tau);
    t = cresset::linalg_solve_triangular(d.matmul(v.adjoint().matmul(v).triu(1)), d, true, true, true);
  }
};

void check_reflections(const char* op, const Tensor& input, const Tensor& tau) {
  check_matrix(op, input, "input");
  check_inexact(op, input);
  CRESSET_CHECK(tau.dim() == input.dim() - 1 && batch_of(input) == tau.sizes().slice(0, tau.dim() - 1) && tau.size(-1) <= input.size(-1), op,
                ": expected tau of at most ", input.size(-1), " numbers for each matrix, got shapes ", input.sizes(), " and ", tau.sizes());
  check_same_kind(op, input, tau);
}

// ---- ranks and pseudo-inverses ----

struct Tolerance {
  Tensor atol, rtol;
};

Tensor number(const Tensor& a, double value) { return cresset::full({}, value, a.options().dtype(to_real_type(a.scalar_type()))); }

// The defaults of linalg.pinv and linalg.matrix_rank: rtol is epsilon * max(m, n) unless an atol above 0 is given.
Tolerance tolerance(const Tensor& a, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol) {
  const double usual = epsilon(a) * static_cast<double>(std::max(a.size(-2), a.size(-1)));
  for (const auto* t : {&atol, &rtol})
    if (*t) CRESSET_CHECK(!(*t)->is_complex(), "linalg: tolerances of a complex type are not supported, got dtype ", (*t)->scalar_type());
  const Tensor absolute = atol ? *atol : number(a, 0);
  if (rtol) return {absolute, *rtol};
  return {absolute, atol ? cresset::where(absolute.gt(0), number(a, 0), number(a, usual)) : number(a, usual)};
}
std::optional<Tensor> as_tensor(const Tensor& a, std::optional<double> value) { return value ? std::optional<Tensor>(number(a, *value)) : std::nullopt; }

// Values above the tolerance, of sizes that need not be sorted.
Tensor above(const Tensor& sizes, const Tolerance& tol) {
  const Tensor most = sizes.amax(-1, true);
  return sizes.gt(cresset::maximum(tol.atol.dim() ? tol.atol.unsqueeze(-1) : tol.atol, (tol.rtol.dim() ? tol.rtol.unsqueeze(-1) : tol.rtol) * most));
}

struct Svd {
  Tensor u, s, vh;
};
Svd decompose(const Tensor& a, bool hermitian) {
  if (!hermitian) {
    auto [u, s, vh] = cresset::_linalg_svd(a, false, true);
    return {u, s, vh};
  }
  const auto [values, vectors] = cresset::_linalg_eigh(a);
  return {vectors * values.sgn().unsqueeze(-2), values.abs(), vectors.adjoint()};
}

// A^+ b for matrices of rank r, differentiable along matrices of that rank (G. Golub and V. Pereyra, "The differentiation of
// pseudo-inverses and nonlinear least squares problems whose variables separate", 1973). With the singular vectors of A held fixed,
// A = F (U^H F)^-1 G^H for F = A V and G^H = U^H A, of full rank both, and A^+ = G (G^H G)^-1 (U^H F) (F^H F)^-1 F^H by their QR.
Tensor apply_pseudo_inverse(const Tensor& a, const Tensor& b, const Svd& svd, int64_t rank) {
  const Tensor u = svd.u.narrow(-1, 0, rank), v = svd.vh.narrow(-2, 0, rank).adjoint();
  const bool tall = rank == a.size(-1), wide = rank == a.size(-2);
  if (tall) {
    const auto [q, r] = cresset::_linalg_qr(a);
    return solve_by_triangle(r, q.adjoint().matmul(b), true);
  }
  if (wide) {
    const auto [q, r] = cresset::_linalg_qr(a.adjoint());
    return q.matmul(solve_by_triangle(r.adjoint(), b, false));
  }
  const Tensor f = a.matmul(v), g = u.adjoint().matmul(a).adjoint();
  const auto [q1, r1] = cresset::_linalg_qr(f);
  const auto [q2, r2] = cresset::_linalg_qr(g);
  const Tensor inner = u.adjoint().matmul(f).matmul(solve_by_triangle(r1, q1.adjoint().matmul(b), true));
  return q2.matmul(solve_by_triangle(r2.adjoint(), inner, false));
}

// Of which matrices a singular value may be below rcond times the largest, as far as the triangle of the QR factorisation tells: with
// Frobenius norms 1 / |R^-1| is at most the least of them, and |R| at least the largest. One bool for each, in one dimension.
Tensor perhaps_deficient(const Tensor& r, double rcond) {
  const Tensor inverse = solve_by_triangle(r, cresset::eye(r.size(-1), r.options()), true);
  const auto norm = [](const Tensor& t) { return cresset::linalg_vector_norm(t, 2, IntArrayRef({-2, -1})); };
  return (norm(r) * norm(inverse) * std::max(rcond, 0.0)).lt(0.5).logical_not().reshape({-1});
}

// By QR, and by QR with pivots where that leaves the rank open. `rank` is full ranks at first.
Tensor plain_solution(const Tensor& a, const Tensor& b, double rcond, Tensor& rank) {
  const bool tall = a.size(-2) >= a.size(-1);
  const auto [q, r] = cresset::_linalg_qr(tall ? a : a.adjoint());
  const Tensor doubtful = perhaps_deficient(r, rcond).nonzero().squeeze(-1);
  const int64_t count = doubtful.numel();
  const auto flat = [](const Tensor& t) { return t.reshape({-1, t.size(-2), t.size(-1)}); };
  const DimVector whole = with_matrix(batch_of(a), b.size(-2), b.size(-1)), sizes = with_matrix(batch_of(a), a.size(-1), b.size(-1));
  Tensor x;
  if (count < rank.numel()) x = tall ? solve_by_triangle(r, q.adjoint().matmul(b), true) : q.matmul(solve_by_triangle(r.adjoint(), b, false));
  if (count == 0) return x;
  check_finite("linalg.lstsq", a);
  const Tensor found = cresset::empty({count}, rank.options());
  const Tensor solved = shortest_solution(flat(a).index_select(0, doubtful), flat(b.expand(whole)).index_select(0, doubtful), rcond, found);
  rank = rank.reshape({-1}).index_copy(0, doubtful, found).reshape(rank.sizes());
  return (x.defined() ? flat(x).index_copy(0, doubtful, solved) : solved).reshape(sizes);
}

// The largest values first, so that narrow() takes those above a tolerance.
Svd sorted(const Svd& svd) {
  const Tensor order = svd.s.argsort(-1, true);
  const Tensor columns = order.unsqueeze(-2).expand(svd.u.sizes()), rows = order.unsqueeze(-1).expand(svd.vh.sizes());
  return {svd.u.gather(-1, columns), svd.s.gather(-1, order), svd.vh.gather(-2, rows)};
}

Tensor differentiable_solution(const Tensor& a, const Tensor& b, const Svd& svd, const Tensor& kept) {
  const Tensor ranks = kept.sum(-1).reshape({-1});
  const int64_t first = ranks[0].item().to<int64_t>();
  if (!known_any(ranks.ne(first))) {
    if (first == 0) return cresset::zeros_like(a).adjoint().matmul(b) + a.adjoint().matmul(b) * 0;
    return apply_pseudo_inverse(a, b, svd, first);
  }
  const DimVector batch(batch_of(a));
  const auto each = [&](const Tensor& t) { return t.expand(with_matrix(batch, t.size(-2), t.size(-1))).reshape({-1, t.size(-2), t.size(-1)}); };
  const Tensor as = each(a), bs = each(b), us = each(svd.u), vs = each(svd.vh), ss = svd.s.reshape({-1, svd.s.size(-1)}),
               ks = kept.reshape({-1, kept.size(-1)});
  std::vector<Tensor> results;
  for (int64_t i = 0; i < as.size(0); i++) results.push_back(differentiable_solution(as[i], bs[i], {us[i], ss[i], vs[i]}, ks[i]));
  return cresset::stack(results).reshape(with_matrix(batch, a.size(-1), b.size(-1)));
}

// A^+ b, where `kept` singular values count.
Tensor minimal_solution(const Tensor& a, const Tensor& b, const Svd& svd, const Tensor& kept) {
  const Tensor inverse = cresset::where(kept, svd.s.reciprocal(), number(a, 0)).unsqueeze(-1);
  return svd.vh.adjoint().matmul(svd.u.adjoint().matmul(b) * inverse);
}

// The pseudo-inverse p of A with its derivative of first order, where only the data would tell the rank (Golub and Pereyra, equation 4.12).
Tensor with_derivative(const Tensor& a, const Tensor& p) {
  const Tensor change = a - a.detach(), q = p.detach(), fixed = a.detach(), adjoint = change.adjoint();
  const Tensor left = cresset::eye(a.size(-2), a.options()) - fixed.matmul(q), right = cresset::eye(a.size(-1), a.options()) - q.matmul(fixed);
  return q - q.matmul(change).matmul(q) + q.matmul(q.adjoint()).matmul(adjoint).matmul(left) + right.matmul(adjoint).matmul(q.adjoint()).matmul(q);
}

Tensor pseudo_inverse(const Tensor& a, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol, bool hermitian) {
  const char* op = "linalg.pinv";
  check_matrix(op, a);
  check_inexact(op, a);
  if (hermitian) check_square(op, a);
  if (a.numel() == 0) return a.adjoint().clone(MemoryFormat::Contiguous);
  const Tolerance tol = tolerance(a, atol, rtol);
  const Svd svd = decompose(a.detach(), hermitian);
  if (differentiates(a) && !a.lacks_data()) {
    const Svd ordered = hermitian ? sorted(svd) : svd;
    const Tensor whole = hermitian ? a.tril() + a.tril(-1).adjoint() : a;
    return differentiable_solution(whole, cresset::eye(a.size(-2), a.options()), ordered, above(ordered.s, tol)).contiguous();
  }
  const Tensor inverse = cresset::where(above(svd.s, tol), svd.s.reciprocal(), number(a, 0)).unsqueeze(-2);
  const Tensor result = (svd.vh.adjoint() * inverse).matmul(svd.u.adjoint());
  return differentiates(a) ? with_derivative(hermitian ? a.tril() + a.tril(-1).adjoint() : a, result) : result;
}

Tensor rank_of(const Tensor& a, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol, bool hermitian) {
  const char* op = "linalg.matrix_rank";
  check_matrix(op, a);
  check_inexact(op, a);
  if (hermitian) check_square(op, a);
  const Tolerance tol = tolerance(a, atol, rtol);
  if (a.numel() == 0) return cresset::zeros(broadcast_shapes(broadcast_shapes(batch_of(a), tol.atol.sizes()), tol.rtol.sizes()), a.options().dtype(kLong));
  const Tensor plain = a.detach();
  const Tensor sizes = hermitian ? std::get<0>(cresset::_linalg_eigh(plain, "L", false)).abs() : std::get<1>(cresset::_linalg_svd(plain, false, false));
  return above(sizes, tol).sum(-1);
}

}  // namespace

namespace composite {

using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Two linalg_qr(const Tensor& a, std::string_view mode) {
  CRESSET_CHECK(mode == "reduced" || mode == "complete" || mode == "r", "linalg.qr: received unrecognized mode '", std::string(mode),
                "', expected one of 'reduced' (default), 'r', or 'complete'");
  return cresset::_linalg_qr(a, mode);
}
Two qr(const Tensor& self, bool some) {
  CRESSET_WARN_ONCE("qr is deprecated; use linalg.qr, whose mode is \"reduced\" or \"complete\"");
  return cresset::_linalg_qr(self, some ? "reduced" : "complete");
}
Two geqrf(const Tensor& self) { return cresset::_linalg_qr(self, "raw"); }

Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  check_reflections("linalg.householder_product", input, tau);
  CRESSET_CHECK(input.size(-2) >= input.size(-1), "linalg.householder_product: expected at least as many rows as columns, got shape ", input.sizes());
  const Reflections h(input, tau);
  const int64_t m = input.size(-2), n = input.size(-1);
  return by_columns(cresset::eye(m, n, input.options()) - h.v.matmul(h.t.matmul(h.v.narrow(-2, 0, n).adjoint())));
}
Tensor orgqr(const Tensor& self, const Tensor& input2) { return cresset::linalg_householder_product(self, input2); }

Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transpose) {
  const char* op = "ormqr";
  check_reflections(op, self, input2);
  CRESSET_CHECK(input2.size(-1) == std::min(self.size(-2), self.size(-1)), op, ": expected tau of ", std::min(self.size(-2), self.size(-1)),
                " numbers for each matrix, got shapes ", self.sizes(), " and ", input2.sizes());
  check_matrix(op, input3, "other");
  check_same_kind(op, self, input3);
  CRESSET_CHECK(input3.size(left ? -2 : -1) == self.size(-2) && batch_of(input3) == batch_of(self), op, ": other.shape[", left ? -2 : -1,
                "] must be equal to input.shape[-2], and the batches too, got shapes ", self.sizes(), " and ", input3.sizes());
  const Reflections h(self, input2);
  const Tensor t = transpose ? h.t.adjoint() : h.t;
  if (left) return by_columns(input3 - h.v.matmul(t.matmul(h.v.adjoint().matmul(input3))));
  return by_columns(input3 - input3.matmul(h.v).matmul(t).matmul(h.v.adjoint()));
}

Two linalg_eigh(const Tensor& self, std::string_view uplo) { return cresset::_linalg_eigh(self, uplo, true); }
Tensor linalg_eigvalsh(const Tensor& self, std::string_view uplo) { return std::get<0>(cresset::_linalg_eigh(self, uplo, differentiates(self))); }
Two linalg_eig(const Tensor& self) { return cresset::_linalg_eig(self, true); }
Tensor linalg_eigvals(const Tensor& self) { return std::get<0>(cresset::_linalg_eig(self, differentiates(self))); }

Three linalg_svd(const Tensor& a, bool full_matrices, std::optional<std::string_view> driver) { return cresset::_linalg_svd(a, full_matrices, true, driver); }
Tensor linalg_svdvals(const Tensor& a, std::optional<std::string_view> driver) {
  return std::get<1>(cresset::_linalg_svd(a, false, differentiates(a), driver));
}
Three svd(const Tensor& self, bool some, bool compute_uv) {
  if (compute_uv) {
    const auto [u, s, vh] = cresset::_linalg_svd(self, !some, true);
    return {u, s, vh.adjoint()};
  }
  const Tensor s = cresset::linalg_svdvals(self);
  const int64_t m = self.size(-2), n = self.size(-1);
  return {cresset::zeros(with_matrix(batch_of(self), m, m), self.options()), s,
          cresset::zeros(with_matrix(batch_of(self), n, n), self.options()).transpose(-2, -1)};
}

Tensor linalg_pinv(const Tensor& self, double rcond, bool hermitian) { return pseudo_inverse(self, number(self, 0), number(self, rcond), hermitian); }
Tensor linalg_pinv(const Tensor& self, const Tensor& rcond, bool hermitian) { return pseudo_inverse(self, number(self, 0), rcond, hermitian); }
Tensor linalg_pinv(const Tensor& self, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return pseudo_inverse(self, as_tensor(self, atol), as_tensor(self, rtol), hermitian);
}
Tensor linalg_pinv(const Tensor& self, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol, bool hermitian) {
  return pseudo_inverse(self, atol, rtol, hermitian);
}
Tensor pinverse(const Tensor& self, double rcond) { return cresset::linalg_pinv(self, rcond, false); }

Tensor linalg_matrix_rank(const Tensor& self, double tol, bool hermitian) { return rank_of(self, number(self, tol), number(self, 0), hermitian); }
Tensor linalg_matrix_rank(const Tensor& self, const Tensor& tol, bool hermitian) { return rank_of(self, tol, number(self, 0), hermitian); }
Tensor linalg_matrix_rank(const Tensor& self, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return rank_of(self, as_tensor(self, atol), as_tensor(self, rtol), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& self, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol, bool hermitian) {
  return rank_of(self, atol, rtol, hermitian);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond, std::optional<std::string_view> driver) {
  const char* op = "linalg.lstsq";
  CRESSET_CHECK(a.dim() >= 2, op, ": input must have at least 2 dimensions, got shape ", a.sizes());
  CRESSET_CHECK(b.dim() >= 1, op, ": other must have at least 1 dimension, got a number");
  check_matrix(op, a);
  check_inexact(op, a);
  check_same_kind(op, a, b);
  const std::string_view name = driver.value_or("gelsy");
  CRESSET_CHECK(name == "gels" || name == "gelsy" || name == "gelsd" || name == "gelss", op, ": expected driver to be gels, gelsy, gelsd or gelss, got ",
                std::string(name));
  const int64_t m = a.size(-2), n = a.size(-1);
  const bool vector = a.dim() - 1 == b.dim() && b.sizes() == a.sizes().slice(0, a.dim() - 1);
  CRESSET_CHECK(vector || b.dim() >= 2, op, ": expected other of at most the dimensions of input, got shapes ", a.sizes(), " and ", b.sizes());
  const Tensor right = vector ? b.unsqueeze(-1) : b;
  CRESSET_CHECK(right.size(-2) == m, op, ": expected input.size(-2) equal to other.size(", vector ? -1 : -2, "), got shapes ", a.sizes(), " and ", b.sizes());
  const DimVector batch = broadcast_shapes(batch_of(a), batch_of(right));
  const Tensor matrix = a.expand(with_matrix(batch, m, n));
  const TensorOptions real = a.options().dtype(to_real_type(a.scalar_type()));
  Tensor rank = cresset::empty({0}, a.options().dtype(kLong)), values = cresset::empty({0}, real), residuals = cresset::empty({0}, real), x;
  const bool by_rank = name != "gels", known = !a.lacks_data();
  bool full_rank = true;
  if (matrix.numel() == 0 || right.numel() == 0) {
    x = matrix.adjoint().matmul(right);  // zeros, with a history
    if (by_rank) rank = cresset::zeros(batch, rank.options());
    if (name == "gelsd" || name == "gelss") {
      DimVector sizes = batch;
      sizes.push_back(std::min(m, n));
      values = cresset::zeros(sizes, real);
    }
  } else {
    const bool graph = known && (differentiates(a) || differentiates(b));
    double least = rcond.value_or(epsilon(a) * static_cast<double>(std::max(m, n)));
    // LAPACK takes these for no tolerance, and the unit roundoff then.
    if ((name == "gelsd" && (least <= 0 || least >= 1)) || (name == "gelss" && least < 0)) least = epsilon(a) / 2;
    if (name == "gelsy" && known && !graph && !((a.impl()->layers() | b.impl()->layers()) & layer_bit(Layer::Vmap))) {
      rank = cresset::full(batch, std::min(m, n), rank.options());
      x = plain_solution(matrix, right, least, rank);
    } else if (by_rank) {
      const Svd svd = decompose(matrix.detach(), false);
      const Tensor kept = above(svd.s, {number(a, 0), number(a, least)});
      rank = kept.sum(-1);
      full_rank = !known_any(rank.ne(std::min(m, n)));
      if (name != "gelsy") values = svd.s;
      if (graph) {
        x = differentiable_solution(matrix, right, svd, kept);
      } else if (differentiates(a)) {
        const Tensor inverse = cresset::where(kept, svd.s.reciprocal(), number(a, 0)).unsqueeze(-2);
        x = with_derivative(matrix, (svd.vh.adjoint() * inverse).matmul(svd.u.adjoint())).matmul(right);
      } else {
        x = minimal_solution(matrix, right, svd, kept);
      }
    } else {
      x = apply_pseudo_inverse(matrix, right, {matrix, matrix, matrix}, std::min(m, n));
    }
  }
  if (m > n && full_rank && name != "gelsy") {
    const Tensor left_over = (matrix.matmul(x) - right).abs();
    residuals = (left_over * left_over).sum(-2);
  } else if (x.requires_grad()) {
    residuals = x.abs().flatten().narrow(0, 0, 0);
  }
  // As LAPACK leaves it: where B stood, which has more rows where A is tall.
  const Tensor rows = x.transpose(-2, -1), room = m > n ? cresset::constant_pad_nd(rows, {0, m - n}) : rows.clone(MemoryFormat::Contiguous);
  const Tensor solution = room.narrow(-1, 0, n).transpose(-2, -1);
  return {vector ? solution.squeeze(-1) : solution, residuals, rank, values};
}

}  // namespace composite

}  // namespace cresset::ops
