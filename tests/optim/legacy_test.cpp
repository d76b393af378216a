// Kept for older programs of LibTorch: files from before 1.5, methods that are gone there, states from the start.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cresset/base/warning_handler.h"
#include "cresset/cresset.h"
#include "cresset/optim/all.h"
#include "cresset/optim/lbfgs_state.h"

namespace {

using namespace cresset;

struct Collected : warnings::WarningHandler {
  Collected() : before(warnings::get_warning_handler()) { warnings::set_warning_handler(this); }
  ~Collected() override { warnings::set_warning_handler(before); }
  void process(const warnings::Warning& warning) override { texts.push_back(warning.msg()); }
  warnings::WarningHandler* before;
  std::vector<std::string> texts;
};

void write_list(serialize::OutputArchive& archive, const std::string& name, const std::vector<Tensor>& list) {
  archive.write(name + "/size", tensor(static_cast<int64_t>(list.size())));
  for (size_t i = 0; i < list.size(); i++) archive.write(name + "/" + std::to_string(i), list[i], true);
}

// Loads the file into the optimizer, which says that the format is old.
void load_old(optim::Optimizer& optimizer, serialize::OutputArchive& file) {
  std::stringstream stream;
  file.save_to(stream);
  Collected collected;
  cresset::load(optimizer, stream);
  ASSERT_EQ(collected.texts.size(), 1u);
  EXPECT_NE(collected.texts[0].find("old serialization"), std::string::npos);
}

std::vector<Tensor> two_parameters() { return {zeros({2}).requires_grad_(), zeros({3}).requires_grad_()}; }

TEST(OldFiles, ListsOverTheParametersBecomeStates) {
  optim::Adam adam(two_parameters());
  serialize::OutputArchive file;
  write_list(file, "step_buffers", {tensor(static_cast<int64_t>(7))});
  write_list(file, "exp_average_buffers", {tensor({1.0, 2.0})});
  write_list(file, "exp_average_sq_buffers", {tensor({3.0, 4.0})});
  write_list(file, "max_exp_average_sq_buffers", {});
  load_old(adam, file);
  ASSERT_EQ(adam.state().size(), 1u);
  const auto& state = static_cast<const optim::AdamParamState&>(*adam.state().at(adam.param_groups()[0].params()[0].unsafeGetTensorImpl()));
  EXPECT_EQ(state.step(), 7);
  EXPECT_TRUE(state.exp_avg().equal(tensor({1.0, 2.0})));
  EXPECT_TRUE(state.exp_avg_sq().equal(tensor({3.0, 4.0})));
  EXPECT_FALSE(state.max_exp_avg_sq().defined());
}

TEST(OldFiles, WithoutStepsTheyBeginAtZero) {
  optim::RMSprop rmsprop(two_parameters());
  serialize::OutputArchive file;
  write_list(file, "square_average_buffers", {tensor({1.0, 2.0}), tensor({3.0, 4.0, 5.0})});
  load_old(rmsprop, file);
  ASSERT_EQ(rmsprop.state().size(), 2u);
  const auto& state = static_cast<const optim::RMSpropParamState&>(*rmsprop.state().at(rmsprop.param_groups()[0].params()[1].unsafeGetTensorImpl()));
  EXPECT_EQ(state.step(), 0);
  EXPECT_TRUE(state.square_avg().equal(tensor({3.0, 4.0, 5.0})));
}

TEST(OldFiles, LbfgsHasOneState) {
  optim::LBFGS lbfgs(two_parameters());
  serialize::OutputArchive file;
  file.write("d", ones({5}), true);
  file.write("t", tensor(0.5), true);
  file.write("H_diag", tensor(2.0), true);
  file.write("prev_flat_grad", ones({5}), true);
  file.write("prev_loss", tensor(1.5), true);
  write_list(file, "old_dirs", {ones({5})});
  write_list(file, "old_stps", {ones({5}) * 2});
  load_old(lbfgs, file);
  const auto& state = static_cast<const optim::LBFGSParamState&>(*lbfgs.state().begin()->second);
  EXPECT_EQ(state.t(), 0.5);
  EXPECT_EQ(state.prev_loss(), 1.5);
  EXPECT_TRUE(state.d().equal(ones({5})));
  ASSERT_EQ(state.old_stps().size(), 1u);
  EXPECT_TRUE(state.old_stps()[0].equal(ones({5}) * 2));
}

TEST(OldFiles, OfOtherParametersAreRefusedAndChangeNothing) {
  optim::Adagrad adagrad(two_parameters());
  for (const std::vector<Tensor>& wrong : {std::vector<Tensor>{ones({9})}, {ones({2}), ones({3}), ones({1})}}) {
    serialize::OutputArchive file;
    write_list(file, "sum_buffers", wrong);
    std::stringstream stream;
    file.save_to(stream);
    Collected collected;
    EXPECT_THROW(cresset::load(adagrad, stream), ValueError);
    for (const auto& [parameter, state] : adagrad.state()) EXPECT_EQ(static_cast<const optim::AdagradParamState&>(*state).sum().sum().item<float>(), 0);
  }
}

TEST(OldMethods, Warn) {
  optim::SGD sgd(two_parameters(), optim::SGDOptions(0.1));
  Collected collected;
  EXPECT_EQ(sgd.size(), 2u);
  EXPECT_EQ(sgd.parameters().size(), 2u);
  sgd.add_parameters({ones({1}).requires_grad_()});
  ASSERT_EQ(collected.texts.size(), 3u);
  for (const std::string& text : collected.texts) EXPECT_NE(text.find("deprecated"), std::string::npos);
}

TEST(Adagrad, HasItsStatesFromTheStart) {
  const optim::Adagrad adagrad(two_parameters(), optim::AdagradOptions(0.1).initial_accumulator_value(0.5));
  ASSERT_EQ(adagrad.state().size(), 2u);
  for (const auto& [parameter, state] : adagrad.state()) {
    EXPECT_EQ(static_cast<const optim::AdagradParamState&>(*state).step(), 0);
    EXPECT_EQ(static_cast<const optim::AdagradParamState&>(*state).sum()[0].item<float>(), 0.5f);
  }
}

TEST(RegisterParameter, WarnsOfAnUndefinedTensorThatShallRequireGrad) {
  nn::Module module;
  Collected collected;
  module.register_parameter("quiet", Tensor(), false);
  EXPECT_TRUE(collected.texts.empty());
  module.register_parameter("loud", Tensor());
  EXPECT_EQ(collected.texts.size(), 1u);
  EXPECT_TRUE(module.parameters().empty());
}

TEST(BackwardWithCreateGraph, WarnsOfTheCycle) {
  Collected collected;
  const warnings::WarnAlways always;
  const Tensor x = ones({1}).requires_grad_();
  (x * x).backward({}, std::nullopt, /*create_graph=*/true);
  EXPECT_EQ(collected.texts.size(), 1u);
  x.mutable_grad().reset();
}

}  // namespace
