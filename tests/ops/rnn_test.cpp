// Recurrent layers with fused gates against the same layers step by step, and their derivatives by finite differences.
#include "cresset/cresset.h"
#include "cresset/transform/gradcheck.h"
#include "gtest/gtest.h"
#include "tests/error_of.h"

namespace cresset {
namespace {

using autograd::variable_list;

constexpr int64_t kHidden = 3, kInput = 2;
int64_t gates_of(int64_t kind) { return kind == 2 ? 4 : kind == 3 ? 3 : 1; }

struct Layer {
  std::vector<int64_t> batch_sizes;
  Tensor gates, weight, bias, hx, cx;

  Layer(int64_t kind, std::vector<int64_t> sizes, ScalarType dtype, int64_t hidden = kHidden) : batch_sizes(std::move(sizes)) {
    manual_seed(3);
    int64_t rows = 0;
    for (const int64_t b : batch_sizes) rows += b;
    const auto random = [&](IntArrayRef shape) { return randn(shape, TensorOptions(dtype).requires_grad(true)); };
    const int64_t g = gates_of(kind) * hidden;
    gates = random({rows, g});
    weight = random({g, hidden});
    bias = random({g});
    hx = random({batch_sizes[0], hidden});
    cx = random({batch_sizes[0], hidden});
  }
  variable_list inputs(int64_t kind) const {
    variable_list all{gates, weight, bias, hx};
    if (kind == 2) all.push_back(cx);
    return all;
  }
};

variable_list fused(int64_t kind, bool reverse, IntArrayRef sizes, const variable_list& x) {
  const auto [out, hn, cn, saved, cells] = _rnn_layer(x[0], x[1], x[2], x[3], kind == 2 ? std::optional<Tensor>(x[4]) : std::nullopt, sizes, kind, reverse);
  return kind == 2 ? variable_list{out, hn, cn} : variable_list{out, hn};
}
variable_list stepwise(int64_t kind, bool reverse, IntArrayRef sizes, const variable_list& x) {
  const auto [out, hn, cn] = _rnn_layer_by_steps(x[0], x[1], x[2], {}, x[3], kind == 2 ? std::optional<Tensor>(x[4]) : std::nullopt, sizes, kind, reverse);
  return kind == 2 ? variable_list{out, hn, cn} : variable_list{out, hn};
}

TEST(RnnLayer, EqualsItsSteps) {
  for (const int64_t kind : {0, 1, 2, 3})
    for (const bool reverse : {false, true})
      for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{2, 2, 2}, {3, 2, 2, 1}, {1}, {4, 1}}) {
        const Layer layer(kind, sizes, kFloat);
        const variable_list x = layer.inputs(kind), a = fused(kind, reverse, sizes, x), b = stepwise(kind, reverse, sizes, x);
        variable_list weights;
        for (size_t i = 0; i < a.size(); i++) {
          EXPECT_TRUE(allclose(a[i], b[i], 1e-5, 1e-6)) << kind << reverse << sizes.size() << " output " << i;
          weights.push_back(randn_like(a[i]));
        }
        const auto ga = autograd::grad(a, x, weights), gb = autograd::grad(b, x, weights);
        for (size_t i = 0; i < ga.size(); i++) EXPECT_TRUE(allclose(ga[i], gb[i], 1e-4, 1e-5)) << kind << reverse << sizes.size() << " gradient " << i;
      }
}

// Weights packed once: batches above the thin ones, columns that fill no vector, more rows of weights than one block holds.
TEST(RnnLayer, ManySequencesEqualTheirSteps) {
  for (const int64_t kind : {0, 1, 2, 3})
    for (const ScalarType dtype : {kFloat, kDouble})
      for (const auto& [sizes, hidden] : std::vector<std::pair<std::vector<int64_t>, int64_t>>{{{17, 17}, 5}, {{130, 99, 18, 3}, 37}, {{20, 20}, 400}}) {
        const bool reverse = hidden == 37;
        const Layer layer(kind, sizes, dtype, hidden);
        variable_list x = layer.inputs(kind);
        x[1] = (x[1] * 0.1).detach().requires_grad_();
        const variable_list a = fused(kind, reverse, sizes, x), b = stepwise(kind, reverse, sizes, x);
        variable_list weights;
        for (size_t i = 0; i < a.size(); i++) {
          EXPECT_TRUE(allclose(a[i], b[i], 1e-4, 1e-5)) << kind << " hidden " << hidden << " output " << i;
          weights.push_back(randn_like(a[i]));
        }
        const auto ga = autograd::grad(a, x, weights), gb = autograd::grad(b, x, weights);
        for (size_t i = 0; i < ga.size(); i++) EXPECT_TRUE(allclose(ga[i], gb[i], 1e-3, 1e-3)) << kind << " hidden " << hidden << " gradient " << i;
      }
}

TEST(RnnLayer, ResultsDoNotDependOnThreads) {
  const int threads = get_num_threads();
  for (const int64_t kind : {0, 2, 3}) {
    const std::vector<int64_t> sizes{70, 70, 41, 41};
    const Layer layer(kind, sizes, kFloat, 64);
    const variable_list x = layer.inputs(kind);
    const auto run = [&](int n) {
      set_num_threads(n);
      variable_list all = fused(kind, false, sizes, x);
      const auto gradients = autograd::grad({all[0].square().sum()}, {x[0], x[1], x[2], x[3]});
      all.insert(all.end(), gradients.begin(), gradients.end());
      return all;
    };
    const variable_list one = run(1), three = run(3);
    set_num_threads(threads);
    for (size_t i = 0; i < one.size(); i++) EXPECT_TRUE(equal(one[i], three[i])) << kind << " " << i;
  }
}

TEST(RnnLayer, FirstAndSecondDerivatives) {
  for (const int64_t kind : {0, 2, 3})
    for (const bool reverse : {false, true}) {
      const std::vector<int64_t> sizes{2, 2, 1};
      const Layer layer(kind, sizes, kDouble);
      const auto f = [&](const variable_list& x) { return fused(kind, reverse, sizes, x); };
      EXPECT_TRUE(autograd::gradcheck(f, layer.inputs(kind)));
      EXPECT_TRUE(autograd::gradgradcheck(f, layer.inputs(kind)));
    }
}

TEST(RnnLayer, UnusedOutputsHaveNoGradient) {
  const Layer layer(2, {2, 2}, kDouble);
  const variable_list x = layer.inputs(2);
  const auto only_cell = autograd::grad({fused(2, false, layer.batch_sizes, x)[2].sum()}, x),
             slow = autograd::grad({stepwise(2, false, layer.batch_sizes, x)[2].sum()}, x);
  for (size_t i = 0; i < x.size(); i++) EXPECT_TRUE(allclose(only_cell[i], slow[i]));
}

TEST(RnnLayer, Mistakes) {
  const Layer layer(2, {2, 2}, kFloat);
  const auto run = [&](std::vector<int64_t> sizes) { return error_of([&] { fused(2, false, sizes, layer.inputs(2)); }); };
  EXPECT_EQ(run({2, 3}), "_rnn_layer: batch sizes must not grow and start with that of hx, 2, got [2, 3]");
  EXPECT_EQ(run({2, 1}), "_rnn_layer: shapes do not fit, got gates [4, 12], weight_hh [12, 3], hx [2, 3]");
}

std::vector<Tensor> weights_of(int64_t g, int64_t layers, int64_t directions) {
  std::vector<Tensor> w;
  for (int64_t l = 0; l < layers; l++)
    for (int64_t d = 0; d < directions; d++)
      for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{g, l == 0 ? kInput : directions * kHidden}, {g, kHidden}, {g}, {g}})
        w.push_back(randn(shape));
  return w;
}

TEST(Lstm, PackedSequencesEqualOnesOfTheirOwn) {
  manual_seed(1);
  const std::vector<Tensor> w = weights_of(4 * kHidden, 2, 2);
  const std::vector<int64_t> lengths{4, 3, 1};
  const Tensor h = randn({4, 3, kHidden}), c = randn({4, 3, kHidden});
  std::vector<Tensor> sequences, steps;
  for (const int64_t n : lengths) sequences.push_back(randn({n, kInput}));
  std::vector<int64_t> batch_sizes;
  for (int64_t t = 0; t < 4; t++) {
    batch_sizes.push_back(0);
    for (size_t s = 0; s < 3; s++)
      if (t < lengths[s]) {
        steps.push_back(sequences[s].narrow(0, t, 1));
        batch_sizes.back()++;
      }
  }
  const auto [packed, hn, cn] = lstm(cat(steps), tensor(batch_sizes), {h, c}, w, true, 2, 0.0, false, true);
  for (size_t s = 0; s < 3; s++) {
    const int64_t at = static_cast<int64_t>(s);
    const auto [alone, h1, c1] = lstm(sequences[s].unsqueeze(1), {h.narrow(1, at, 1), c.narrow(1, at, 1)}, w, true, 2, 0.0, false, true, false);
    EXPECT_TRUE(allclose(hn.narrow(1, at, 1), h1, 1e-5, 1e-6)) << s;
    EXPECT_TRUE(allclose(cn.narrow(1, at, 1), c1, 1e-5, 1e-6)) << s;
    int64_t first = 0;
    for (int64_t t = 0; t < lengths[s]; first += batch_sizes[static_cast<size_t>(t)], t++)
      EXPECT_TRUE(allclose(packed[first + at], alone[t][0], 1e-5, 1e-6)) << s << " step " << t;
  }
}

TEST(Lstm, LowPrecisionGoesByTheSteps) {
  manual_seed(1);
  std::vector<Tensor> w = weights_of(3 * kHidden, 1, 1), low;
  for (const Tensor& t : w) low.push_back(t.to(kBFloat16));
  const Tensor x = randn({5, 2, kInput}), h = randn({1, 2, kHidden});
  const auto [out, hn] = gru(x, h, w, true, 1, 0.0, false, false, false);
  const auto [low_out, low_hn] = gru(x.to(kBFloat16), h.to(kBFloat16), low, true, 1, 0.0, false, false, false);
  EXPECT_EQ(low_out.scalar_type(), kBFloat16);
  EXPECT_TRUE(allclose(low_out.to(kFloat), out, 0.1, 0.05));
}

TEST(RnnLayer, ShapesAndDtypesThatDoNotFitAreErrors) {
  const Tensor x = ones({3, 3}), wide = x.to(kDouble);
  const std::vector<Tensor> states{x, x};
  EXPECT_EQ(error_of([&] { lstm_cell(x, states, x, x); }),
            "lstm_cell: expected 12 rows of both weights for hidden states of size 3, got weights of shapes [3, 3] and [3, 3]");
  EXPECT_EQ(error_of([&] { gru_cell(x, x, x, x); }).find("gru_cell: expected 9 rows of both weights"), 0u);
  const Tensor w = ones({12, 3});
  EXPECT_EQ(error_of([&] { lstm_cell(x, std::vector<Tensor>{x, ones({3, 2})}, w, w); }), "lstm_cell: expected a cell state of shape [3, 3], got [3, 2]");
  EXPECT_EQ(error_of([&] { _rnn_layer_by_steps(x, x, {}, {}, x, x, {3}, 2, false); }),
            "_rnn_layer_by_steps: shapes do not fit, got gates [3, 3], hx [3, 3] and batch sizes [3]");
  EXPECT_EQ(error_of([&] { _rnn_layer_by_steps(x, x, {}, {}, x, {}, {3}, 7, false); }), "_rnn_layer_by_steps: unknown kind of network, got 7");
  EXPECT_EQ(error_of([&] { _rnn_layer(x, x, ones({3}).to(kDouble), x, {}, {3}, 0, false); }), "_rnn_layer: expected one dtype, got float32 and float64");
  const auto backward = [&](const Tensor& grad, const Tensor& saved) {
    _rnn_layer_backward(grad, {}, {}, ones({3, 12}), w, {}, x, x, x, saved, x, {3}, 2, false);
  };
  EXPECT_EQ(error_of([&] { backward(x, ones({3, 12})); }), "no error");
  EXPECT_EQ(error_of([&] { backward(x, x); }),
            "_rnn_layer_backward: expected the shape [3, 12] and dtype float32 of the result 3, got float32 of shape [3, 3]");
  EXPECT_EQ(error_of([&] {
              backward(wide, ones({3, 12}));
            }),
            "_rnn_layer_backward: expected the shape [3, 3] and dtype float32 of the result 0, got float64 of shape [3, 3]");
}

}  // namespace
}  // namespace cresset
