#include "cresset/autograd/autograd.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/rules/rules.h"
#include "cresset/ops/functions.h"

namespace cresset {
namespace autograd {
namespace rules {

RnnGradients rnn_layer_double_backward(const std::vector<Tensor>& grads, const std::optional<Tensor>& grad_output, const std::optional<Tensor>& grad_hn,
                                       const std::optional<Tensor>& grad_cn, const Tensor& gates, const Tensor& weight_hh, const std::optional<Tensor>& bias_hh,
                                       const Tensor& hx, const std::optional<Tensor>& cx, IntArrayRef batch_sizes, int64_t kind, bool reverse) {
  const bool again = GradMode::is_enabled();
  AutoGradMode recording(true);
  // Names of their own, so that the inner pass ends at them; what came before is kept for derivatives of this one.
  const auto own = [](const std::optional<Tensor>& t) {
    if (!t || !t->defined()) return Tensor();
    return t->requires_grad() ? t->alias() : t->detach().requires_grad_(true);
  };
  const Tensor outer[] = {own(grad_output), own(grad_hn), own(grad_cn)}, inner[] = {own(gates), own(weight_hh), own(bias_hh), own(hx), own(cx)};
  const auto [out, hn, cn] = cresset::_rnn_layer_by_steps(inner[0], inner[1], inner[2], {}, inner[3], inner[4], batch_sizes, kind, reverse);
  const Tensor* const made[] = {&out, &hn, &cn};

  variable_list outputs, weights, wanted, firsts, first_weights;
  std::vector<size_t> wanted_at, given_at;
  for (size_t i = 0; i < 3; i++)
    if (outer[i].defined()) {
      outputs.push_back(*made[i]);
      weights.push_back(outer[i]);
      given_at.push_back(i);
    }
  for (size_t i = 0; i < 5; i++)
    if (inner[i].defined()) {
      wanted.push_back(inner[i]);
      wanted_at.push_back(i);
    }
  RnnGradients result;
  if (outputs.empty()) return result;
  const variable_list first = grad(outputs, wanted, weights, true, true, true);
  for (size_t i = 0; i < first.size(); i++)
    if (first[i].defined() && grads[wanted_at[i]].defined()) {
      firsts.push_back(first[i]);
      first_weights.push_back(grads[wanted_at[i]]);
    }
  if (firsts.empty()) return result;
  variable_list sources = weights;
  sources.insert(sources.end(), wanted.begin(), wanted.end());
  const variable_list second = grad(firsts, sources, first_weights, again, again, true);
  Tensor* const to[] = {&std::get<0>(result), &std::get<1>(result), &std::get<2>(result), &std::get<3>(result),
                        &std::get<4>(result), &std::get<5>(result), &std::get<6>(result), &std::get<7>(result)};
  for (size_t i = 0; i < second.size(); i++) *to[i < weights.size() ? given_at[i] : 3 + wanted_at[i - weights.size()]] = second[i];
  return result;
}

}  // namespace rules
}  // namespace autograd
}  // namespace cresset
