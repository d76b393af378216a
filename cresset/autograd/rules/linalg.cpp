// Gradients of factorisations. M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation"
// (2008) has the real ones; what each takes from elsewhere stands beside it. Complex gradients follow PyTorch's convention, the
// conjugate Wirtinger derivative: <G, dA> = Re tr(G^H dA).

#include "cresset/autograd/rules/rules.h"
#include "cresset/core/batched.h"

namespace cresset::autograd::rules {

namespace {

Tensor solve(const Tensor& a, const Tensor& b, bool upper, bool left = true, bool unit = false) {
  return cresset::linalg_solve_triangular(a, b, upper, left, unit);
}
Tensor on_diagonal(const Tensor& vector) { return cresset::diag_embed(vector); }
Tensor diagonal_of(const Tensor& matrix) { return matrix.diagonal(0, -2, -1); }
Tensor imaginary(const Tensor& t) { return cresset::view_as_real(t.resolve_conj()).select(-1, 1); }
Tensor real_part(const Tensor& t) { return t.is_complex() ? cresset::view_as_real(t.resolve_conj()).select(-1, 0) : t; }
Tensor times_i(const Tensor& t) { return t * Scalar(complex<double>(0, 1)); }
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

// x_j - x_i at (i, j), and 1 on the diagonal.
Tensor differences(const Tensor& x) {
  const Tensor e = x.unsqueeze(-2) - x.unsqueeze(-1);
  return e + cresset::eye(x.size(-1), x.options());
}
Tensor without_diagonal(const Tensor& t) { return t.tril(-1) + t.triu(1); }

// Vectors have a free phase: a loss that depends on it has no gradient. `phase` must vanish, in all elements of a batch.
void check_phase(const char* op, const Tensor& phase_of_element, const Tensor& scale_of_element) {
  const Tensor &phase = physical(phase_of_element), &scale = physical(scale_of_element);
  if (phase.lacks_data() || phase.numel() == 0) return;
  const double most = phase.abs().max().item().to<double>(), size = scale.abs().max().item().to<double>();
  CRESSET_CHECK(!(most > 1e-2 * std::max(size, 1.0)), op, ": in the complex case the vectors are specified up to multiplication by e^{i phi}; ",
                "the loss depends on this phase, so its gradient is ill-defined, got a derivative by the phase of ", most);
}

}  // namespace

// I. Murray, "Differentiation of the Cholesky decomposition" (2016), equation 9.
Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor l = upper ? factor.adjoint() : factor, g = upper ? grad.adjoint() : grad;
  const Tensor product = l.adjoint().matmul(g);
  // The lower triangle and its mirror image, halved: the result is Hermitian by itself. Of the diagonal the real part counts.
  const Tensor lower = product.is_complex() ? product.tril() - on_diagonal(times_i(imaginary(diagonal_of(product)))) : product.tril();
  const Tensor phi = (lower + lower.tril(-1).adjoint()) * 0.5;
  return solve(l, solve(l.adjoint(), phi, true), false, false);
}

Tensor lu_factor_backward(const Tensor& grad, const Tensor& lu, const Tensor& pivots) {
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const Tensor square = lu.narrow(-2, 0, k).narrow(-1, 0, k), square_grad = grad.narrow(-2, 0, k).narrow(-1, 0, k);
  const Tensor l = square.tril(-1) + cresset::eye(k, lu.options()), u = square.triu();
  // X = L^-1 dA U^-1 is L^-1 dL, strictly lower, plus dU U^-1.
  Tensor lower = l.adjoint().matmul(square_grad.tril(-1)), above = square_grad.triu().matmul(u.adjoint());
  Tensor right, below;
  if (n > k) {  // A = L [U1 U2]
    const Tensor u2 = lu.narrow(-1, k, n - k), g2 = grad.narrow(-1, k, n - k);
    right = solve(l.adjoint(), g2, true, true, true);
    lower = lower - g2.matmul(u2.adjoint());
  }
  if (m > k) {  // A = [L1; L2] U
    const Tensor l2 = lu.narrow(-2, k, m - k), g2 = grad.narrow(-2, k, m - k);
    below = solve(u.adjoint(), g2, false, false);
    above = above - l2.adjoint().matmul(g2);
  }
  Tensor result = solve(u.adjoint(), solve(l.adjoint(), lower.tril(-1) + above.triu(), true, true, true), false, false);
  if (right.defined()) result = cresset::cat({result, right}, -1);
  if (below.defined()) result = cresset::cat({result, below}, -2);
  return std::get<0>(cresset::lu_unpack(lu.detach(), pivots, false, true)).matmul(result);
}

Pair solve_triangular_backward(const Tensor& grad, const Tensor& a, const Tensor& x, bool upper, bool left, bool unitriangular) {
  const Tensor gb = solve(a.adjoint(), grad, !upper, left, unitriangular);
  const Tensor ga = left ? gb.matmul(x.adjoint()).neg() : x.adjoint().matmul(gb).neg();
  return {upper ? ga.triu(unitriangular ? 1 : 0) : ga.tril(unitriangular ? -1 : 0), gb};
}

// M. Seeger et al., "Auto-differentiating linear algebra" (2017), for real matrices; for complex ones the diagonal of Q^H dQ is
// i Im(Q^H dA R^-1), since R's diagonal stays real. Wide matrices: A = [A1 A2] = Q [R1 R2] with R2 = Q^H A2.
Tensor qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& a, const Tensor& q, const Tensor& r, std::string_view mode) {
  CRESSET_CHECK_NOT_IMPLEMENTED(mode != "raw", "geqrf: its derivative is not implemented; linalg.qr has one");
  CRESSET_CHECK(mode != "r", "linalg.qr: the derivative is not implemented when mode='r', which has no Q, expected 'reduced' or 'complete'");
  const int64_t m = a.size(-2), n = a.size(-1);
  CRESSET_CHECK(mode != "complete" || m <= n, "linalg.qr: mode='complete' of a matrix with more rows than columns has no derivative");
  if (!grad_q.defined() && !grad_r.defined()) return Tensor();
  const int64_t k = std::min(m, n);
  Tensor gq = grad_q, gr = grad_r, r1 = r;
  Tensor right;
  if (m < n) {
    r1 = r.narrow(-1, 0, k);
    if (gr.defined()) {
      const Tensor g2 = gr.narrow(-1, k, n - k);
      right = q.matmul(g2);
      gq = plus(gq, a.narrow(-1, k, n - k).matmul(g2.adjoint()));
      gr = gr.narrow(-1, 0, k);
    } else {
      right = cresset::zeros_like(a.narrow(-1, k, n - k));
    }
  }
  const Tensor qg = gq.defined() ? q.adjoint().matmul(gq) : Tensor(), rr = gr.defined() ? gr.matmul(r1.adjoint()) : Tensor();
  const Tensor both = qg.defined() && rr.defined() ? qg - rr : qg.defined() ? qg : rr.neg();
  Tensor c = (both - both.adjoint()).tril(-1);
  if (both.is_complex()) c = c + on_diagonal(times_i(imaginary(diagonal_of(both))));
  if (rr.defined()) c = c + rr;
  if (qg.defined()) c = c - qg;
  Tensor result = q.matmul(c);
  if (gq.defined()) result = result + gq;
  result = solve(r1.adjoint(), result, false, false);
  return right.defined() ? cresset::cat({result, right}, -1) : result;
}

Tensor eigh_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values, const Tensor& vectors) {
  if (!grad_values.defined() && !grad_vectors.defined()) return Tensor();
  CRESSET_CHECK(vectors.dim() > 1, "linalg.eigh: the gradient needs the eigenvectors, which were not computed");
  if (!grad_vectors.defined()) return (vectors * grad_values.unsqueeze(-2)).matmul(vectors.adjoint());
  const Tensor inner = vectors.adjoint().matmul(grad_vectors);
  if (inner.is_complex()) check_phase("linalg.eigh", imaginary(diagonal_of(inner)), inner);
  Tensor middle = without_diagonal(inner) / differences(values);
  if (grad_values.defined()) middle = middle + on_diagonal(grad_values);
  return vectors.matmul(middle).matmul(vectors.adjoint());
}

// R. Mathias, "A chain rule for matrix functions and applications" (1996), theorem 2.1.
Tensor matrix_exp_backward(const Tensor& grad, const Tensor& self) {
  const int64_t n = self.size(-1);
  const Tensor adjoint = self.adjoint(), zeros = cresset::zeros_like(adjoint);
  const Tensor twice = cresset::cat({cresset::cat({adjoint, grad}, -1), cresset::cat({zeros, adjoint}, -1)}, -2);
  return cresset::matrix_exp(twice).narrow(-2, 0, n).narrow(-1, n, n);
}

// C. Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum beamforming" (2017),
// with the projection that keeps the vectors at norm 1.
Tensor eig_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values, const Tensor& vectors) {
  if (!grad_values.defined() && !grad_vectors.defined()) return Tensor();
  CRESSET_CHECK(vectors.dim() > 1, "linalg.eig: the gradient needs the eigenvectors, which were not computed");
  const Tensor adjoint = vectors.adjoint();
  Tensor middle;
  if (grad_vectors.defined()) {
    const Tensor inner = adjoint.matmul(grad_vectors), along = diagonal_of(inner);
    check_phase("linalg.eig", imaginary(along), inner);
    const Tensor projected = inner - adjoint.matmul(vectors) * real_part(along).unsqueeze(-2);
    middle = without_diagonal(projected / differences(values).conj());
    if (grad_values.defined()) middle = middle + on_diagonal(grad_values);
  } else {
    middle = on_diagonal(grad_values);
  }
  return cresset::linalg_solve(adjoint, middle.matmul(adjoint));
}

// J. Townsend, "Differentiating the singular value decomposition" (2016); Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for
// complex valued SVD" (2019) for the phase.
Tensor svd_backward(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& full_u, const Tensor& s, const Tensor& full_vh) {
  if (!grad_u.defined() && !grad_s.defined() && !grad_vh.defined()) return Tensor();
  CRESSET_CHECK(full_u.dim() > 1, "linalg.svd: the gradient needs the singular vectors, which were not computed");
  const int64_t k = s.size(-1), m = full_u.size(-2), n = full_vh.size(-1);
  const Tensor u = full_u.size(-1) == k ? full_u : full_u.narrow(-1, 0, k), vh = full_vh.size(-2) == k ? full_vh : full_vh.narrow(-2, 0, k);
  if (!grad_u.defined() && !grad_vh.defined()) return m >= n ? u.matmul(grad_s.unsqueeze(-1) * vh) : (u * grad_s.unsqueeze(-2)).matmul(vh);
  const Tensor gu = grad_u.defined() ? grad_u.narrow(-1, 0, k) : Tensor(), gvh = grad_vh.defined() ? grad_vh.narrow(-2, 0, k) : Tensor();
  const Tensor inner_u = gu.defined() ? u.adjoint().matmul(gu) : Tensor(), inner_v = gvh.defined() ? vh.matmul(gvh.adjoint()) : Tensor();
  const Tensor e = differences(s * s);
  const auto skewed = [&](const Tensor& x) { return without_diagonal((x - x.adjoint()) / e); };
  Tensor middle;
  if (gu.defined()) middle = skewed(inner_u) * s.unsqueeze(-2);
  if (gvh.defined()) middle = plus(middle, skewed(inner_v) * s.unsqueeze(-1));
  if (middle.is_complex()) {
    const Tensor both = plus(inner_u, inner_v);
    check_phase("linalg.svd", imaginary(diagonal_of(both)), both);
    if (gu.defined()) middle = middle + on_diagonal(times_i(imaginary(diagonal_of(inner_u)) / s));
  }
  if (grad_s.defined()) middle = middle + on_diagonal(grad_s);
  Tensor result = u.matmul(middle).matmul(vh);
  if (gu.defined() && m > k) {
    const Tensor g = gu / s.unsqueeze(-2);
    result = result + (g - u.matmul(u.adjoint().matmul(g))).matmul(vh);
  }
  if (gvh.defined() && n > k) {
    const Tensor g = gvh / s.unsqueeze(-1);
    result = result + u.matmul(g - g.matmul(vh.adjoint()).matmul(vh));
  }
  return result;
}

}  // namespace cresset::autograd::rules
