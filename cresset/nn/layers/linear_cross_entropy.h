#pragma once
// The cross entropy of a linear layer's scores, which need not all be in memory. (Python: torch.nn.LinearCrossEntropyLoss.)

#include <algorithm>
#include <optional>
#include <ostream>
#include <vector>

#include "cresset/nn/layers/linear.h"
#include "cresset/nn/layers/loss.h"
#include "cresset/transform/checkpoint.h"

namespace cresset::nn {

// How the batch goes through in pieces, whose scores are computed again in backward.
struct LinearCrossEntropyOptions {
  // Rows of a piece; absent: as many as make its scores as large as the weight.
  CRESSET_ARG(std::optional<int64_t>, batch_chunk_size);
};

namespace functional {

namespace detail {
inline Tensor scores_cross_entropy(const Tensor& input, const Tensor& linear_weight, const Tensor& target, const Tensor& linear_bias,
                                   const CrossEntropyFuncOptions& o, bool of_piece = false) {
  const int64_t reduction = o.reduction() == kNone ? 0 : o.reduction() == kSum || of_piece ? 2 : 1;
  return cresset::_linear_cross_entropy(input, linear_weight, target, linear_bias, o.weight(), reduction, o.ignore_index(), o.label_smoothing());
}
}  // namespace detail

// cross_entropy of linear(input, linear_weight, linear_bias): (N, in_features) for classes (N, *) or probabilities (N, C, *). A weight
// (C, *, in_features) gives a loss for each place of *. Errors: features, weights, batches or a piece of rows that do not fit.
inline Tensor linear_cross_entropy(const Tensor& input, const Tensor& linear_weight, const Tensor& target, const Tensor& linear_bias = {},
                                   const CrossEntropyFuncOptions& options = {}, const std::optional<LinearCrossEntropyOptions>& pieces = std::nullopt) {
  const char* op = "linear_cross_entropy: ";
  CRESSET_CHECK(input.dim() == 1 || input.dim() == 2, op, "expected an input of 1 or 2 dimensions, got shape ", input.sizes());
  CRESSET_CHECK(linear_weight.dim() >= 2, op, "expected a linear_weight of at least 2 dimensions, got shape ", linear_weight.sizes());
  CRESSET_CHECK(input.size(-1) == linear_weight.size(-1), op, "expected as many features in input and linear_weight, got ", input.size(-1), " and ",
                linear_weight.size(-1));
  CRESSET_CHECK(linear_weight.dim() == 2 || input.dim() == 2, op, "a linear_weight of shape ", linear_weight.sizes(),
                " needs an input with a batch, got shape ", input.sizes());
  const IntArrayRef of_classes = linear_weight.sizes().slice(0, static_cast<size_t>(linear_weight.dim() - 1));
  CRESSET_CHECK(!linear_bias.defined() || linear_bias.sizes() == of_classes, op, "expected a linear_bias of shape ", of_classes, ", got ", linear_bias.sizes());
  CRESSET_CHECK_VALUE(input.dim() == 1 || target.dim() == 0 || target.size(0) == input.size(0), op, "expected as many targets as inputs, got ",
                      target.dim() ? target.size(0) : 1, " and ", input.size(0));
  if (!pieces || input.dim() == 1) return detail::scores_cross_entropy(input, linear_weight, target, linear_bias, options);

  const int64_t rows = pieces->batch_chunk_size().value_or(std::max<int64_t>(1, linear_weight.size(-1)));
  CRESSET_CHECK_VALUE(rows >= 1, op, "expected batch_chunk_size >= 1, got ", rows);
  std::vector<Tensor> losses;
  for (int64_t start = 0; start < input.size(0); start += rows) {
    const int64_t n = std::min(rows, input.size(0) - start);
    autograd::variable_list given = {input.narrow(0, start, n), linear_weight};
    if (linear_bias.defined()) given.push_back(linear_bias);
    losses.push_back(cresset::utils::checkpoint(
        [y = target.narrow(0, start, n), options](const autograd::variable_list& in) {
          return autograd::variable_list{detail::scores_cross_entropy(in[0], in[1], y, in.size() > 2 ? in[2] : Tensor(), options, true)};
        },
        given, false)[0]);
  }
  if (losses.empty()) return detail::scores_cross_entropy(input, linear_weight, target, linear_bias, options);
  return cresset::_join_cross_entropies(losses, target, options.weight(),
                                        options.reduction() == kNone   ? 0
                                        : options.reduction() == kMean ? 1
                                                                       : 2,
                                        options.ignore_index());
}

}  // namespace functional

struct LinearCrossEntropyLossOptions {
  LinearCrossEntropyLossOptions(int64_t in_features, int64_t num_classes) : in_features_(in_features), num_classes_(num_classes) {}
  using reduction_t = Reduction_t;
  CRESSET_ARG(int64_t, in_features);
  CRESSET_ARG(int64_t, num_classes);
  // The places of which each has classes of its own.
  CRESSET_ARG(std::vector<int64_t>, out_features);
  CRESSET_ARG(bool, bias) = false;
  CRESSET_ARG(reduction_t, reduction) = kMean;
  CRESSET_ARG(Tensor, weight);
  CRESSET_ARG(std::optional<int64_t>, ignore_index);
  CRESSET_ARG(double, label_smoothing) = 0.0;
  CRESSET_ARG(std::optional<LinearCrossEntropyOptions>, options);
};

// CrossEntropyLoss over a Linear of its own. Errors: class weights or a label smoothing that do not fit.
class LinearCrossEntropyLossImpl : public Cloneable<LinearCrossEntropyLossImpl> {
 public:
  LinearCrossEntropyLossImpl(int64_t in_features, int64_t num_classes) : LinearCrossEntropyLossImpl(LinearCrossEntropyLossOptions(in_features, num_classes)) {}
  explicit LinearCrossEntropyLossImpl(LinearCrossEntropyLossOptions o) : options(std::move(o)) {
    CRESSET_CHECK(!options.weight().defined() || options.weight().sizes() == IntArrayRef({options.num_classes()}),
                  "LinearCrossEntropyLoss: expected a weight of ", options.num_classes(), " classes, got shape ", options.weight().sizes());
    CRESSET_CHECK(options.label_smoothing() >= 0 && options.label_smoothing() <= 1, "LinearCrossEntropyLoss: label_smoothing must be in [0, 1], got ",
                  options.label_smoothing());
    LinearCrossEntropyLossImpl::reset();
  }
  void reset() override {
    // A copy has its own.
    weight = register_buffer("weight", options.weight().defined() ? options.weight().clone() : Tensor());
    int64_t outputs = options.num_classes();
    for (int64_t n : options.out_features()) outputs *= n;
    linear = register_module("linear", Linear(LinearOptions(options.in_features(), outputs).bias(options.bias())));
  }
  // Draws the weights of the Linear anew.
  void reset_parameters() { linear->reset_parameters(); }
  void pretty_print(std::ostream& stream) const override {
    stream << std::boolalpha << "torch::nn::LinearCrossEntropyLoss(in_features=" << options.in_features() << ", num_classes=" << options.num_classes()
           << ", out_features=";
    cresset::detail::print_list(stream, IntArrayRef(options.out_features()));
    stream << ", bias=" << options.bias() << ", label_smoothing=" << options.label_smoothing() << ")";
  }
  Tensor forward(const Tensor& input, const Tensor& target) {
    const bool of_probabilities = target.is_floating_point();
    CRESSET_CHECK(of_probabilities || target.dim() != input.dim() + static_cast<int64_t>(options.out_features().size()),
                  "LinearCrossEntropyLoss: expected class probabilities of floating point type, got ", target.scalar_type());
    CRESSET_CHECK(!of_probabilities || !options.ignore_index(), "LinearCrossEntropyLoss: ignore_index cannot be given when the target contains probabilities");
    std::vector<int64_t> shape = {options.num_classes()};
    shape.insert(shape.end(), options.out_features().begin(), options.out_features().end());
    const Tensor bias = linear->bias.defined() ? linear->bias.view(shape) : Tensor();
    shape.push_back(options.in_features());
    auto loss = functional::CrossEntropyFuncOptions().weight(weight).reduction(options.reduction()).label_smoothing(options.label_smoothing());
    if (options.ignore_index()) loss.ignore_index(*options.ignore_index());
    return functional::linear_cross_entropy(input, linear->weight.view(shape), target, bias, loss, options.options());
  }

  LinearCrossEntropyLossOptions options;
  Linear linear = nullptr;
  Tensor weight;
};
CRESSET_MODULE(LinearCrossEntropyLoss);

}  // namespace cresset::nn
