#include "cresset/kernels/training/loss.h"

#include <gtest/gtest.h>

#include "tests/kernels/array.h"
#include "tests/kernels/loss_reference.h"

namespace cresset::kernels {
namespace {

using namespace testing;

constexpr int64_t kIgnored = -100;

struct Problem {
  Array x, dy, weight;
  std::vector<int64_t> target;
  Problem(ScalarType t, int64_t n, int64_t classes) : x(t, {n, classes}), dy(t, {n}), weight(t, {classes}), target(static_cast<size_t>(n)) {
    fill(x, 1);
    fill(dy, 2);
    fill(weight, 3);
    for (int64_t i = 0; i < x.numel(); i++) x.set<double>(i, 8 * x.get<double>(i));
    for (int64_t i = 0; i < classes; i++) weight.set<double>(i, weight.get<double>(i) + 1.5);
    for (size_t i = 0; i < target.size(); i++) target[i] = i % 5 == 3 ? kIgnored : static_cast<int64_t>(i * 7919) % classes;
  }
};

void check(ScalarType t, int64_t n, int64_t classes, bool weighted, double smoothing, Reduction reduction) {
  Problem p(t, n, classes);
  const ScalarType lse_type = t == kDouble ? kDouble : kFloat;
  Array out(t, {reduction == Reduction::none ? n : 1}), out2 = out, total(t, {1}), total2 = total, lse(lse_type, {n}), lse2 = lse, dx = p.x, dx2 = p.x;
  CrossEntropyArgs f{p.x.data(), p.target.data(), weighted ? p.weight.data() : nullptr, out.data(), total.data(), lse.data(), t, n, classes, kIgnored,
                     smoothing,  reduction};
  cross_entropy(f);
  f.out = out2.data(), f.total_weight = total2.data(), f.lse = lse2.data();
  reference::cross_entropy(f);
  expect_close(lse, lse2, 4, "log-sum-exp");
  expect_close(out, out2, 100, "loss");  // the reference sums thousands of terms in turn
  if (reduction != Reduction::none) expect_close(total, total2, 4, "total weight");
  CrossEntropyBackwardArgs b{p.dy.data(), p.x.data(), lse2.data(), p.target.data(), f.weight,  total2.data(), dx.data(),
                             t,           n,          classes,     kIgnored,        smoothing, reduction};
  cross_entropy_backward(b);
  b.dx = dx2.data();
  reference::cross_entropy_backward(b);
  expect_close(dx, dx2, 4, "dx");
  b.x = p.x.data(), b.dx = p.x.data();
  cross_entropy_backward(b);
  expect_close(p.x, dx2, 4, "dx in place of x");
}

TEST(CrossEntropy, EveryDtypeReductionAndOption) {
  for_each_isa([] {
    for (const ScalarType t : kFloatDTypes)
      for (const auto& [n, classes] : {std::pair<int64_t, int64_t>{1, 1}, {7, 10}, {3, 100}, {6, 5000}})
        for (const Reduction r : {Reduction::none, Reduction::mean, Reduction::sum})
          for (const bool weighted : {false, true})
            for (const double smoothing : {0.0, 0.1}) check(t, n, classes, weighted, smoothing, r);
  });
}

TEST(CrossEntropy, TargetsOutOfRangeRaise) {
  Problem p(kFloat, 3, 4);
  Array out(kFloat, {1}), total = out, lse(kFloat, {3});
  p.target[1] = 4;
  EXPECT_THROW(cross_entropy({p.x.data(), p.target.data(), nullptr, out.data(), total.data(), lse.data(), kFloat, 3, 4, kIgnored, 0, Reduction::mean}),
               IndexError);
}

TEST(CrossEntropy, SameNumbersOnAnyNumberOfThreads) {
  Problem p(kFloat, 700, 300);
  Array out(kFloat, {1}), total = out, lse(kFloat, {700}), dx = p.x;
  expect_same_on_threads(out, [&] {
    cross_entropy({p.x.data(), p.target.data(), nullptr, out.data(), total.data(), lse.data(), kFloat, 700, 300, kIgnored, 0, Reduction::mean});
  });
  expect_same_on_threads(dx, [&] {
    cross_entropy_backward(
        {p.dy.data(), p.x.data(), lse.data(), p.target.data(), nullptr, total.data(), dx.data(), kFloat, 700, 300, kIgnored, 0, Reduction::mean});
  });
}

}  // namespace
}  // namespace cresset::kernels
