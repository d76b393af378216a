// GradScaler in C++: the scale's course, steps that are left out, state, and mistakes.

#include "cresset/optim/grad_scaler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cresset/cresset.h"
#include "error_of.h"

namespace cresset {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct One {
  Tensor w = ones({2}).requires_grad_();
  optim::SGD optimizer{std::vector<Tensor>{w}, optim::SGDOptions(0.5)};
  void step(GradScaler& scaler, double factor = 1) {
    optimizer.zero_grad();
    scaler.scale((w * factor).sum()).backward();
    scaler.step(optimizer);
    scaler.update();
  }
};

TEST(GradScaler, GrowsAndBacksOff) {
  One one;
  one.optimizer.param_groups()[0].options().set_lr(0);
  GradScaler scaler(4, 3, 0.25, 2);
  std::vector<double> seen;
  for (const double factor : {1.0, 1.0, 1.0, kInf, 1.0, 1.0, std::nan(""), 1.0}) {
    one.step(scaler, factor);
    seen.push_back(scaler.get_scale());
  }
  EXPECT_EQ(seen, (std::vector<double>{4, 12, 12, 3, 3, 9, 2.25, 2.25}));
  GradScaler large(std::ldexp(1.0, 127), 2, 0.5, 1);
  one.step(large, 0);
  EXPECT_EQ(large.get_scale(), std::ldexp(1.0, 127));
}

TEST(GradScaler, StepsAndLeavesOut) {
  One good, bad;
  GradScaler scaler(4);
  (scaler.scale(good.w.sum()) + scaler.scale((bad.w * kInf).sum())).backward();
  scaler.unscale_(good.optimizer);
  EXPECT_EQ(good.w.grad()[0].item<float>(), 1);
  scaler.step(good.optimizer);
  EXPECT_FALSE(scaler.step(bad.optimizer).defined());
  scaler.update();
  EXPECT_EQ(good.w[0].item<float>(), 0.5f);
  EXPECT_EQ(bad.w[0].item<float>(), 1);
  EXPECT_EQ(scaler.get_scale(), 2);
  EXPECT_EQ(scaler.scale({ones({}), ones({})})[1].item<float>(), 2);
}

TEST(GradScaler, StateAndOff) {
  One one;
  GradScaler scaler(8, 2, 0.5, 5), other, off(8, 2, 0.5, 5, false);
  one.step(scaler);
  std::stringstream file, empty;
  serialize::OutputArchive out, none;
  scaler.save(out);
  out.save_to(file);
  serialize::InputArchive in;
  in.load_from(file);
  other.load(in);
  EXPECT_EQ(other.get_scale(), 8);
  EXPECT_EQ(other.get_growth_interval(), 5);
  off.save(none);
  none.save_to(empty);
  serialize::InputArchive nothing;
  nothing.load_from(empty);
  EXPECT_NE(error_of([&] { other.load(nothing); }).find("got an empty one"), std::string::npos);
  EXPECT_EQ(other.get_scale(), 8);
  one.step(off);
  EXPECT_EQ(one.w[0].item<float>(), 0);
  EXPECT_EQ(off.get_scale(), 1);
}

TEST(GradScaler, Mistakes) {
  One one;
  EXPECT_THROW(GradScaler(1, 1.0), ValueError);
  EXPECT_THROW(GradScaler(1, 2.0, 1.0), ValueError);
  GradScaler scaler(4);
  EXPECT_NE(error_of([&] { scaler.update(); }).find("no inf checks were recorded prior to update"), std::string::npos);
  EXPECT_NE(error_of([&] { scaler.step(one.optimizer); }).find("no inf checks were recorded for this optimizer"), std::string::npos);
  scaler.update(4);
  scaler.scale(one.w.sum()).backward();
  scaler.unscale_(one.optimizer);
  EXPECT_NE(error_of([&] { scaler.unscale_(one.optimizer); }).find("called twice"), std::string::npos);
  scaler.step(one.optimizer);
  EXPECT_NE(error_of([&] { scaler.step(one.optimizer); }).find("called twice"), std::string::npos);
  scaler.update();
  Tensor half = ones({1}, TensorOptions(kHalf)).requires_grad_();
  optim::SGD mixed({one.w, half}, optim::SGDOptions(0.5));
  mixed.zero_grad();
  scaler.scale(one.w.sum() + half.sum()).backward();
  EXPECT_THROW(scaler.unscale_(mixed), ValueError);
  EXPECT_EQ(one.w.grad()[0].item<float>(), 4);
}

}  // namespace
}  // namespace cresset
