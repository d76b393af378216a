// Losses as composites. reduction: 0 none, 1 mean, 2 sum.

#include "cresset/core/batched.h"
#include "cresset/dispatch/backend.h"
#include "cresset/dispatch/listen.h"
#include "cresset/kernels/pointwise/pointwise_kernels.h"
#include "cresset/ops/bodies_loss.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/view_geometry.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/pointwise/pointwise.h"

namespace cresset::ops::composite {

namespace {

// Calls the function with grad mode off.
template <class F> void without_history(F&& function) {
  struct Restore {
    LayerState& state = layer_state();
    const bool before = state.grad_mode;
    ~Restore() { state.set_grad_mode(before); }
  } restore;
  restore.state.set_grad_mode(false);
  function();
}

Tensor reduce(const Tensor& loss, int64_t reduction) {
  if (reduction == 1) return loss.mean();
  return reduction == 2 ? loss.sum() : loss;
}

}  // namespace

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) { return reduce((self - target).abs(), reduction); }

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) { return reduce((self - target).square(), reduction); }

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  CRESSET_CHECK(beta >= 0, "smooth_l1_loss: does not support negative values for beta, got ", beta);
  if (beta == 0) return cresset::l1_loss(self, target, reduction);
  const Tensor d = (self - target).abs();
  return reduce(cresset::where(d < beta, d.square() * (0.5 / beta), d - 0.5 * beta), reduction);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  CRESSET_CHECK(delta > 0, "huber_loss: does not support non-positive values for delta, got ", delta);
  const Tensor d = (self - target).abs();
  return reduce(cresset::where(d < delta, d * d * 0.5, (d - 0.5 * delta) * delta), reduction);
}

Tensor smooth_l1_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  const Tensor d = self - target;
  const double each = reduction == 1 ? 1.0 / static_cast<double>(d.numel()) : 1.0;
  return (beta == 0 ? d.sign() : d.clamp(-beta, beta)) * (grad_output * (each / (beta == 0 ? 1.0 : beta)));
}

Tensor huber_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  const Tensor d = self - target;
  return d.clamp(-delta, delta) * (grad_output * (reduction == 1 ? 1.0 / static_cast<double>(d.numel()) : 1.0));
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction) {
  if (self.sizes() != target.sizes()) {
    // As LibTorch has it: sizes of 1 do not count, so that [n, 1] beside [n] is n pairs and not n * n.
    const Tensor x = self.squeeze(), y = target.squeeze();
    CRESSET_CHECK(IntArrayRef(broadcast_shapes(x.sizes(), y.sizes())) == x.sizes(), "binary_cross_entropy: target does not fit input, got shapes ",
                  target.sizes(), " and ", self.sizes());
    return cresset::binary_cross_entropy(self, y.expand_as(x).reshape(self.sizes()), weight, reduction);
  }
  CRESSET_CHECK(self.numel() == 0 || physical(self).lacks_data() || (physical(self).min().item<double>() >= 0 && physical(self).max().item<double>() <= 1),
                "binary_cross_entropy: expected an input within [0, 1]");
  // (N) beside (N, 1): what differs only in sizes of one is the same.
  const bool apart = self.sizes() != target.sizes() && self.squeeze().sizes() == target.squeeze().sizes();
  // Logarithms are clamped to -100, as PyTorch documents, so that a certain wrong answer costs a finite amount.
  Tensor loss = cresset::_binary_entropy(self, apart ? target.reshape(self.sizes()) : target);
  if (given(weight)) loss = loss * *weight;
  return reduce(loss, reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  if (reduction == 3) {
    const Tensor total = composite::kl_div(self, target, 2, log_target);
    return self.dim() == 0 ? total : total / self.size(0);
  }
  return reduce(log_target ? target.exp() * (target - self) : cresset::xlogy(target, target) - target * self, reduction);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const ScalarType dtype = cresset::result_type(x1, x2);
  CRESSET_CHECK(eps >= 0, "cosine_similarity: eps must not be negative, got ", eps);
  CRESSET_CHECK(is_floating_type(dtype), "cosine_similarity: expected common dtype to be floating point, got ", dtype);
  std::vector<Tensor> both{x1.to(dtype), x2.to(dtype)}, lengths;
  if (x1.sizes() != x2.sizes()) both = cresset::broadcast_tensors(both);
  for (const Tensor& x : both) lengths.push_back(cresset::linalg_vector_norm(x, 2, IntArrayRef(dim), true).clone());
  // Zeros are kept away from the division; the gradient passes as if they were not.
  without_history([&] {
    const Tensor least = cresset::scalar_tensor(eps, lengths[0].options().requires_grad(false));
    for (const Tensor& length : lengths) length.clamp_min_(least);
  });
  // Each vector is brought to length 1 on its own: the product of the two norms could overflow.
  return (both[0] / lengths[0] * (both[1] / lengths[1])).sum(IntArrayRef(dim));
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return cresset::linalg_vector_norm(x1 - x2 + eps, p, IntArrayRef(-1), keepdim);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, int64_t reduction) {
  CRESSET_CHECK(target.dim() <= 1, "cosine_embedding_loss: 0D or 1D target tensor expected, got shape ", target.sizes());
  CRESSET_CHECK(input1.dim() == target.dim() + 1 && input2.dim() == target.dim() + 1, "cosine_embedding_loss: inputs of shapes ", input1.sizes(), " and ",
                input2.sizes(), " do not fit a target of shape ", target.sizes());
  constexpr double kEpsilon = 1e-12;
  const Tensor product = (input1 * input2).sum(IntArrayRef(-1));
  const Tensor norm1 = (input1 * input1).sum(IntArrayRef(-1)) + kEpsilon, norm2 = (input2 * input2).sum(IntArrayRef(-1)) + kEpsilon;
  const Tensor cosine = product / (norm1 * norm2).sqrt(), zeros = cresset::zeros_like(cosine);
  const Tensor positive = 1 - cosine, negative = (cosine - margin).clamp_min(0);
  return reduce(cresset::where(target == 1, positive, zeros) + cresset::where(target == -1, negative, zeros), reduction);
}

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin, int64_t reduction) {
  const Tensor zeros = cresset::zeros_like(self);
  return reduce(cresset::where(target != 1, (margin - self).clamp_min(0), zeros) + cresset::where(target != -1, self, zeros), reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, int64_t reduction) {
  return reduce((-target * (input1 - input2) + margin).clamp_min(0), reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p, double eps, bool swap,
                           int64_t reduction) {
  CRESSET_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
                "triplet_margin_loss: anchor, positive and negative must have the same number of dimensions, got ", anchor.sizes(), ", ", positive.sizes(),
                " and ", negative.sizes());
  std::optional<Tensor> other;
  if (swap) other = cresset::pairwise_distance(positive, negative, p, eps);
  return composite::_triplet_hinge(cresset::pairwise_distance(anchor, positive, p, eps), cresset::pairwise_distance(anchor, negative, p, eps), other, margin,
                                   reduction);
}

Tensor _triplet_hinge(const Tensor& near, const Tensor& far, const std::optional<Tensor>& other, double margin, int64_t reduction) {
  return reduce((margin + near - (given(other) ? cresset::minimum(far, *other) : far)).clamp_min(0), reduction);
}

Tensor _weighted_loss(const Tensor& self, const Tensor& weight, int64_t reduction) {
  const Tensor loss = self * weight;
  if (reduction == 1) return loss.sum() / weight.expand_as(loss).sum();
  return reduce(loss, reduction == 3 ? 1 : reduction);
}

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin, const std::optional<Tensor>& weight,
                         int64_t reduction) {
  const bool square = p.to<double>() == 2;
  CRESSET_CHECK(square || p.to<double>() == 1, "multi_margin_loss: p has to be 1 or 2, got ", p);
  CRESSET_CHECK(self.dim() <= 2 && (self.dim() == 0 || self.size(-1) > 0), "multi_margin_loss: expected a vector or a matrix with classes, got ", self.sizes());
  const Tensor scores = cresset::atleast_2d(self), classes = target.reshape({-1, 1});
  CRESSET_CHECK(classes.size(0) == scores.size(0), "multi_margin_loss: inconsistent target size, got ", target.sizes(), " for an input of ", self.sizes());
  CRESSET_CHECK(!given(weight) || (weight->dim() == 1 && weight->size(0) == scores.size(1)), "multi_margin_loss: expected a weight of ", scores.size(1),
                " elements, got ", given(weight) ? weight->sizes() : IntArrayRef());
  Tensor terms = cresset::relu(margin - scores.gather(1, classes) + scores);  // nothing at the edge, as in PyTorch
  if (square) terms = terms * terms;
  if (given(weight)) terms = terms * weight->index_select(0, classes.squeeze(1)).unsqueeze(1);
  const Tensor loss = terms.scatter(1, classes, 0.0).sum(IntArrayRef(1)) / scores.size(1);
  return reduce(self.dim() < 2 && target.dim() == 0 ? loss.squeeze(0) : loss, reduction);
}

Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  CRESSET_CHECK(self.sizes() == target.sizes(), "multilabel_margin_loss: inconsistent target size, got ", target.sizes(), " for an input of ", self.sizes());
  CRESSET_CHECK(self.dim() <= 2 && (self.dim() == 0 || self.size(-1) > 0),
                "multilabel_margin_loss: expected a vector or a matrix that is not empty but for its batch, got ", self.sizes());
  const Tensor scores = cresset::atleast_2d(self);
  Tensor classes = cresset::atleast_2d(target), named = (classes < 0).to(kLong).cumsum(1) == 0;
  if (classes.numel() > 0 && !classes.lacks_data() && !as_batched(classes)) {
    const int64_t least = classes.min().item<int64_t>(), most = classes.max().item<int64_t>();
    CRESSET_CHECK(least >= -1 && most < scores.size(1), "multilabel_margin_loss: target is out of range, expected -1 to ", scores.size(1) - 1,
                  ", got values from ", least, " to ", most);
    // As many columns as the row that names most classes.
    const int64_t longest = named.sum(IntArrayRef(1)).max().item<int64_t>();
    named = named.narrow(1, 0, longest);
    classes = classes.narrow(1, 0, longest);
  }
  const Tensor place = cresset::where(named, classes, 0);
  const Tensor meant = cresset::zeros(scores.sizes(), place.options().dtype(kLong)).scatter_add(1, place, named.to(kLong)) > 0;
  const Tensor gaps = cresset::relu(1 - scores.gather(1, place).unsqueeze(2) + scores.unsqueeze(1));
  const Tensor counted = named.unsqueeze(2).logical_and(meant.logical_not().unsqueeze(1));
  const Tensor loss = cresset::where(counted, gaps, cresset::zeros({}, gaps.options())).sum(IntArrayRef({1, 2})) / scores.size(1);
  return reduce(self.dim() < 2 ? loss.squeeze(0) : loss, reduction);
}

Tensor _multilabel_soft_margin_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction) {
  Tensor loss = -(target * cresset::log_sigmoid(self) + (1 - target) * cresset::log_sigmoid(-self));
  if (given(weight)) loss = loss * *weight;
  return reduce(loss.sum(IntArrayRef(-1)) / self.size(-1), reduction);
}

Tensor _gaussian_nll_loss(const Tensor& self, const Tensor& target, const Tensor& var, bool full, double eps, int64_t reduction) {
  // A graph of the call would be one for these values.
  const bool looks = !physical(var).lacks_data() && !dispatch::is_listening();
  CRESSET_CHECK_VALUE(!looks || !(physical(var) < 0).any().item<bool>(), "gaussian_nll_loss: var has negative entries");
  Tensor v = var;
  if (v.sizes() != self.sizes()) {
    const int64_t kept = self.dim() - 1;
    const bool short_of_one = v.dim() == kept && v.sizes() == self.sizes().slice(0, static_cast<size_t>(kept));
    int64_t other = 0, ones = 0;
    for (int64_t d = 0; v.dim() == self.dim() && d < v.dim(); d++) {
      other += v.size(d) != self.size(d);
      ones += v.size(d) != self.size(d) && v.size(d) == 1;
    }
    CRESSET_CHECK_VALUE(short_of_one || (other == 1 && ones == 1), "gaussian_nll_loss: var of shape ", v.sizes(), " does not fit an input of ", self.sizes());
    if (short_of_one) v = v.unsqueeze(-1);
  }
  // At least eps, with the gradient of var itself.
  v = v + (v.detach().clamp_min(eps) - v).detach();
  constexpr double kHalfLogTwoPi = 0.9189385332046727;
  const Tensor loss = 0.5 * (v.log() + (self - target).square() / v);
  return reduce(full ? loss + kHalfLogTwoPi : loss, reduction);
}

Tensor _linear_cross_entropy(const Tensor& self, const Tensor& linear_weight, const Tensor& target, const std::optional<Tensor>& linear_bias,
                             const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index, double label_smoothing) {
  std::optional<Tensor> bias;
  if (given(linear_bias)) bias = linear_bias->flatten();
  Tensor scores = cresset::linear(self, linear_weight.flatten(0, -2), bias);
  if (linear_weight.dim() > 2) scores = scores.unflatten(1, linear_weight.sizes().slice(0, static_cast<size_t>(linear_weight.dim() - 1)));
  return cresset::cross_entropy_loss(scores, target, weight, reduction, ignore_index, label_smoothing);
}

Tensor _join_cross_entropies(TensorList pieces, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index) {
  if (reduction == 0) return cresset::cat(pieces);
  Tensor total = pieces[0];
  for (size_t i = 1; i < pieces.size(); i++) total = total + pieces[i];
  if (reduction == 2) return total;
  if (target.is_floating_point()) return total / (target.numel() / target.size(1));
  const Tensor counted = target != ignore_index;
  if (!given(weight)) return total / counted.sum();
  const Tensor each = weight->index_select(0, cresset::where(counted, target, 0).flatten()).view(target.sizes());
  return total / each.masked_fill(counted.logical_not(), 0).sum();
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) { return reduce((-target * self).exp().log1p(), reduction); }

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps, int64_t reduction) {
  Tensor loss = log_input ? input.exp() - target * input : input - target * (input + eps).log();
  if (full) {
    constexpr double kTwoPi = 6.283185307179586;
    const Tensor stirling = target * target.log() - target + 0.5 * (kTwoPi * target).log();
    loss = loss + cresset::where(target > 1, stirling, cresset::zeros_like(stirling));
  }
  return reduce(loss, reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, const std::optional<Tensor>& pos_weight,
                                        int64_t reduction) {
  CRESSET_CHECK_VALUE(target.sizes() == self.sizes(), "binary_cross_entropy_with_logits: target size ", target.sizes(), " must be the same as input size ",
                      self.sizes());
  const Tensor log_sigmoid = cresset::log_sigmoid(self);
  Tensor loss;
  if (pos_weight && pos_weight->defined()) {
    const Tensor log_weight = (*pos_weight - 1) * target + 1;
    loss = (1 - target) * self - log_weight * log_sigmoid;
  } else {
    loss = (1 - target) * self - log_sigmoid;
  }
  if (given(weight)) loss = loss * *weight;
  return reduce(loss, reduction);
}

// Other devices take the fused op where they have a kernel or a fallback for it, and so get the same bits as the CPU.
static bool runs_fused(const Tensor& self) {
  if (self.is_cpu()) return true;
  static const dispatch::OpHandle op = dispatch::find_op("_cross_entropy");
  return dispatch::can_run(self.impl()->backend(), op.entry());
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                          double label_smoothing) {
  CRESSET_CHECK(label_smoothing >= 0 && label_smoothing <= 1, "cross_entropy: label_smoothing must be between 0 and 1, got ", label_smoothing);
  CRESSET_CHECK(self.dim() >= 1, "cross_entropy: expected input with at least 1 dimension");
  const int64_t class_dim = self.dim() == 1 ? 0 : 1, classes = self.size(class_dim);
  const bool weighted = given(weight);
  CRESSET_CHECK(!weighted || (weight->dim() == 1 && weight->numel() == classes), "cross_entropy: weight must be one value per class, got ",
                weighted ? *weight : Tensor(), " for ", classes, " classes");
  if (self.dim() == 2 && target.dim() == 1 && runs_fused(self) && self.is_floating_point() && !is_floating_type(target.scalar_type()))
    return std::get<0>(cresset::_cross_entropy(self, target, weight, reduction, ignore_index, label_smoothing));
  const Tensor logp = cresset::log_softmax(self, class_dim, self.scalar_type());
  Tensor class_weight;
  if (weighted) {
    DimVector shape(static_cast<size_t>(self.dim()), 1);
    shape[class_dim] = classes;
    class_weight = weight->view(shape);
  }
  if (self.sizes() == target.sizes()) {
    CRESSET_CHECK(target.is_floating_point(), "cross_entropy: expected probabilities of classes in a floating dtype, got ", target.scalar_type());
    CRESSET_CHECK(ignore_index < 0, "cross_entropy: ignore_index is not supported for floating point target");
    const Tensor smooth = label_smoothing > 0 ? target * (1 - label_smoothing) + label_smoothing / static_cast<double>(classes) : target;
    const Tensor loss = -(logp * smooth * (weighted ? class_weight : cresset::ones({}, self.options()))).sum(IntArrayRef(class_dim));
    if (reduction == 1) return loss.sum() / std::max<int64_t>(1, self.numel() / std::max<int64_t>(1, classes));
    return reduce(loss, reduction);
  }
  const Tensor nll = cresset::nll_loss_nd(logp, target, weight, reduction, ignore_index);
  if (label_smoothing == 0) return nll;
  const Tensor ignored = target == ignore_index;
  Tensor smooth = -(weighted ? logp * class_weight : logp).sum(IntArrayRef(class_dim)).masked_fill(ignored, 0);
  if (reduction == 1) {
    smooth = weighted ? smooth.sum() / weight->gather(0, target.masked_fill(ignored, 0).flatten()).masked_fill(ignored.flatten(), 0).sum()
                      : smooth.sum() / ignored.logical_not().sum();
  } else {
    smooth = reduce(smooth, reduction);
  }
  return (1 - label_smoothing) * nll + smooth * (label_smoothing / static_cast<double>(classes));
}

}  // namespace cresset::ops::composite

// With gradients of their own, which keep the inputs and nothing else.
namespace cresset::ops::cpu {

namespace {

// One pass over real floating inputs and the reduction; everything else as the composite.
template <class Composite>
Tensor loss_of(const PointwiseOp& op, const Tensor& self, const Tensor& target, int64_t reduction, const Scalar* params, Composite composite) {
  if (!self.is_floating_point() || !target.is_floating_point() || self.is_meta()) return composite();
  const Tensor loss = pointwise(op, {self, target}, params);
  return reduction == 1 ? loss.mean() : reduction == 2 ? loss.sum() : loss;
}

}  // namespace

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  static constexpr PointwiseOp op{"mse_loss", kernels::mse_loss_kernel};
  return loss_of(op, self, target, reduction, nullptr, [&] { return composite::mse_loss(self, target, reduction); });
}
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  static constexpr PointwiseOp op{"smooth_l1_loss", kernels::smooth_l1_loss_kernel};
  auto composite = [&] { return composite::smooth_l1_loss(self, target, reduction, beta); };
  if (!(beta > 0)) return composite();
  const Scalar params[] = {beta};
  return loss_of(op, self, target, reduction, params, composite);
}
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  static constexpr PointwiseOp op{"huber_loss", kernels::huber_loss_kernel};
  auto composite = [&] { return composite::huber_loss(self, target, reduction, delta); };
  if (!(delta > 0)) return composite();
  const Scalar params[] = {delta};
  return loss_of(op, self, target, reduction, params, composite);
}

}  // namespace cresset::ops::cpu
