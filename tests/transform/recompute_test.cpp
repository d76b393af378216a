// The settings of checkpointing: gradients are those of the plain function, and what is asked for happens.

#include "cresset/transform/recompute.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cresset/cresset.h"
#include "tests/error_of.h"

namespace {

using namespace cresset;
using autograd::variable_list;
using utils::checkpoint;
using utils::CheckpointOptions;
using utils::CheckpointPolicy;
using Function = std::function<Tensor(const Tensor&)>;

Tensor leaf(uint64_t seed = 0) {
  manual_seed(seed);
  return rand({4}, kDouble).requires_grad_();
}
Tensor gradient(const Tensor& out, const Tensor& x, bool retain = false) { return autograd::grad({out.sum()}, {x}, {}, retain)[0]; }
template <class T> CheckpointOptions with(T CheckpointOptions::*option, std::type_identity_t<T> value, CheckpointOptions options = {}) {
  options.*option = std::move(value);
  return options;
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Recompute, GivesValuesAndGradientsOfThePlainFunction) {
  const Function f = [](const Tensor& x) { return (x.sin() * 2).exp().cos(); };
  const Tensor x = leaf();
  for (const bool reentrant : {true, false}) {
    const Tensor y = checkpoint(f, x, with(&CheckpointOptions::use_reentrant, reentrant));
    EXPECT_TRUE(equal(y, f(x)));
    if (!reentrant) { EXPECT_TRUE(equal(gradient(y, x, true), gradient(f(x), x))); }
    const Tensor leaf = x.detach().requires_grad_();
    checkpoint(f, leaf, with(&CheckpointOptions::use_reentrant, reentrant)).sum().backward();
    EXPECT_TRUE(equal(leaf.grad(), gradient(f(x), x)));
  }
  NoGradGuard guard;
  EXPECT_FALSE(checkpoint(f, x, CheckpointOptions()).requires_grad());
}

TEST(Recompute, DrawsTheSameRandomNumbersWhereItIsAsked) {
  for (const bool preserve : {true, false}) {
    const Tensor x = leaf();
    manual_seed(3);
    const Tensor y = checkpoint([](const Tensor& t) { return t * rand({4}, kDouble); }, x, with(&CheckpointOptions::preserve_rng_state, preserve));
    EXPECT_EQ(allclose(gradient(y, x) * x.detach(), y.detach()), preserve);
  }
}

TEST(Recompute, RunsOnceEachBackwardAndStopsEarly) {
  for (const bool early : {true, false}) {
    std::string calls;
    const Function f = [&](const Tensor& x) {
      calls += 'b';
      const Tensor y = x.exp().sin() + 1;
      calls += 'e';
      return y;
    };
    const Tensor x = leaf();
    Tensor y, overridden;
    y = checkpoint(f, x, with(&CheckpointOptions::early_stop, early));
    {
      const utils::set_checkpoint_early_stop scope(!early);
      overridden = checkpoint(f, x, with(&CheckpointOptions::early_stop, early));
    }
    gradient(y, x, true);
    EXPECT_EQ(calls, early ? "bebeb" : "bebebe");
    gradient(y, x);
    gradient(overridden, x);
    EXPECT_EQ(calls, early ? "bebebbbe" : "bebebebeb");
  }
}

TEST(Recompute, Nests) {
  const Function inner = [](const Tensor& x) { return x.exp().sin(); };
  const Function outer = [&](const Tensor& x) { return checkpoint(inner, x.cos(), CheckpointOptions()).exp(); };
  const Tensor x = leaf();
  EXPECT_TRUE(equal(gradient(checkpoint(outer, x, CheckpointOptions()), x), gradient(inner(x.cos()).exp(), x)));
}

TEST(Recompute, NoticesFunctionsThatChange) {
  int calls = 0;
  const Function fewer = [&](const Tensor& x) { return calls++ ? x.sin() : x.sin().exp().cos(); };
  const Function wider = [&](const Tensor& x) {
    const Tensor y = x.sin();
    return (calls++ ? cat({y, y}) : y).cos();
  };
  const Tensor x = leaf();
  const std::string text = error_of<utils::CheckpointError>([&] { gradient(checkpoint(fewer, x, CheckpointOptions()), x); });
  EXPECT_TRUE(contains(text, "forward pass: 3") && contains(text, "recomputation: 1")) << text;
  for (const bool debug : {true, false}) {
    calls = 0;
    const utils::set_checkpoint_debug_enabled scope(debug ? std::optional<bool>() : false);
    const std::string sizes = error_of<utils::CheckpointError>([&] { gradient(checkpoint(wider, x, with(&CheckpointOptions::debug, true)), x); });
    EXPECT_TRUE(contains(sizes, "position 1") && contains(sizes, "[8]")) << sizes;
    EXPECT_EQ(contains(sizes, "was saved in the forward pass at"), debug) << sizes;
  }
  calls = 0;
  EXPECT_FALSE(
      contains(error_of([&] { gradient(checkpoint(wider, x, with(&CheckpointOptions::determinism_check, "none")), x); }), "another shape, dtype or device"));
}

TEST(Recompute, NoticesInputsThatChangeInPlace) {
  const Tensor x = leaf() * 1;
  const Tensor y = checkpoint([](const Tensor& t) { return t.sin().exp(); }, x, CheckpointOptions());
  x.fill_(0.5);
  EXPECT_TRUE(contains(error_of([&] { y.sum().backward(); }), "modified"));
}

TEST(Recompute, OpensContexts) {
  std::string seen;
  const auto scope = [&](char begin, char end) {
    return [&seen, begin, end] {
      seen += begin;
      return std::shared_ptr<void>(&seen, [end](void* s) { *static_cast<std::string*>(s) += end; });
    };
  };
  const auto contexts = [&]() -> std::pair<utils::CheckpointContext, utils::CheckpointContext> { return {scope('(', ')'), scope('[', ']')}; };
  const Tensor x = leaf();
  const Tensor y = checkpoint([&](const Tensor& t) { return seen += 'f', t.sin(); }, x, with(&CheckpointOptions::context_fn, contexts));
  EXPECT_EQ(seen, "(f)");
  gradient(y, x);
  EXPECT_EQ(seen, "(f)[f]");
  EXPECT_TRUE(
      equal(gradient(checkpoint([](const Tensor& t) { return t.sin(); }, x, with(&CheckpointOptions::context_fn, utils::noop_context_fn)), x), x.cos()));
}

TEST(Recompute, Sequences) {
  const Tensor x = leaf();
  const std::vector<Function> functions = {[](const Tensor& t) { return t.sin(); }, [](const Tensor& t) { return t.exp(); },
                                           [](const Tensor& t) { return t.cos(); }, [](const Tensor& t) { return t.tanh(); }};
  const Tensor expected = gradient(x.sin().exp().cos().tanh(), x);
  for (size_t segments : {1, 2, 3}) EXPECT_TRUE(equal(gradient(utils::checkpoint_sequential(functions, segments, x, CheckpointOptions()), x), expected));
}

TEST(Recompute, RefusesOptionsThatDoNotGoTogether) {
  const Tensor x = leaf();
  const Function f = [](const Tensor& t) { return t.sin(); };
  EXPECT_THROW(checkpoint(f, x, with(&CheckpointOptions::debug, true, with(&CheckpointOptions::use_reentrant, true))), ValueError);
  EXPECT_THROW(checkpoint(f, x, with(&CheckpointOptions::context_fn, utils::noop_context_fn, with(&CheckpointOptions::use_reentrant, true))), ValueError);
  EXPECT_THROW(checkpoint(f, x, with(&CheckpointOptions::determinism_check, "all")), ValueError);
  testing::internal::CaptureStderr();
  checkpoint(f, ones({2}), with(&CheckpointOptions::use_reentrant, true));
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "no input requires grad"));
}

TEST(Recompute, OnceForAGroup) {
  int runs = 0;
  const Tensor x = leaf();
  const Tensor y = checkpoint([&](const Tensor& t) { return runs++, t.sin().exp(); }, x, CheckpointOptions());
  {
    const utils::GraphExecGroup group;
    EXPECT_TRUE(equal(gradient(y, x, true), gradient(y, x, true)));
    EXPECT_TRUE(contains(error_of([] { utils::GraphExecGroup again; }), "do not nest"));
  }
  EXPECT_EQ(runs, 2);
  gradient(y, x);
  EXPECT_EQ(runs, 3);
}

TEST(Checkpoint, TheNameOfTheDeviceMayBeSetWhileAnotherThreadAsks) {
  const std::string before = utils::DefaultDeviceType::get_device_type(), names[] = {std::string(40, 'a'), std::string(60, 'b')};
  utils::DefaultDeviceType::set_device_type(names[0]);
  std::atomic<bool> ended{false};
  std::thread other([&] {
    for (int i = 0; i < 50000; i++) utils::DefaultDeviceType::set_device_type(names[i % 2]);
    ended = true;
  });
  while (!ended) {
    const std::string name = utils::DefaultDeviceType::get_device_type();
    EXPECT_TRUE(name == names[0] || name == names[1]) << name;
  }
  other.join();
  utils::DefaultDeviceType::set_device_type(before);
}

TEST(Recompute, StatesOfDevices) {
  EXPECT_TRUE(utils::get_device_states({ones({1})}).first.empty());
  utils::set_device_states({}, {});
  EXPECT_THROW(utils::set_device_states({Device(kCPU)}, {ones({1})}), Error);
  EXPECT_EQ(utils::DefaultDeviceType::get_device_type(), "cpu");
  const Tensor x = leaf();
  const variable_list cut = utils::detach_variable({x * 2, ones({1})});
  EXPECT_TRUE(cut[0].is_leaf() && cut[0].requires_grad() && !cut[1].requires_grad());
  EXPECT_TRUE(equal(utils::CheckpointFunction::apply([](const variable_list& in) { return variable_list{in[0] * 3}; }, true, {x})[0], x * 3));
}

// ---- operators whose results are kept --------------------------------------------------------------------------------------

// Counts what the engine's recomputation calls, by a policy that is asked of each operator.
struct Asked {
  std::vector<std::string> first, again;
  CheckpointPolicy answer;
  CheckpointOptions options() {
    return with(&CheckpointOptions::context_fn, [this] {
      return utils::create_selective_checkpoint_contexts(
          [this](const utils::SelectiveCheckpointContext& context, const dispatch::OpEntry& op, const dispatch::Stack&) {
            EXPECT_EQ(context.op_output != nullptr, !context.is_recompute);
            (context.is_recompute ? again : first).push_back(op.name);
            return answer;
          });
    });
  }
};

TEST(SelectiveCheckpoint, TellsPoliciesWhereTheyAre) {
  Asked asked{{}, {}, CheckpointPolicy::PREFER_RECOMPUTE};
  const Tensor x = leaf();
  gradient(checkpoint([](const Tensor& t) { return t.sin().exp(); }, x, asked.options()), x);
  EXPECT_EQ(asked.first, (std::vector<std::string>{"sin", "exp"}));
  EXPECT_EQ(asked.again, std::vector<std::string>());  // asked once, in the first run
}

TEST(SelectiveCheckpoint, KeepsResultsOfTheChosenOperators) {
  manual_seed(0);
  const Tensor w = rand({3, 3}, kDouble).requires_grad_(), x = rand({3, 3}, kDouble).requires_grad_();
  const Function f = [&](const Tensor& t) { return (t.matmul(w).sin().matmul(w)).exp().sum(0); };
  const variable_list expected = autograd::grad({f(x).sum()}, {x, w});
  // A product of zeros and infinities, were it computed again, would show: what was kept is changed behind the checkpoint's back.
  for (const bool keeps : {true, false}) {
    std::vector<Tensor> kept;
    const auto contexts = [&] {
      return utils::create_selective_checkpoint_contexts(
          [&](const utils::SelectiveCheckpointContext& context, const dispatch::OpEntry& op, const dispatch::Stack&) {
            if (std::string(op.name) != "mm" || !keeps) return CheckpointPolicy::PREFER_RECOMPUTE;
            if (context.op_output) kept.push_back(context.op_output->at(0).to_tensor());
            return CheckpointPolicy::MUST_SAVE;
          },
          true);
    };
    const Tensor y = checkpoint(f, x, with(&CheckpointOptions::context_fn, contexts));
    const variable_list got = autograd::grad({y.sum()}, {x, w}, {}, true);
    EXPECT_TRUE(equal(got[0], expected[0]) && equal(got[1], expected[1]));
    EXPECT_EQ(kept.size(), keeps ? 2u : 0u);
    for (const Tensor& t : kept) t.detach().zero_();
    EXPECT_EQ(equal(autograd::grad({y.sum()}, {x, w})[1], expected[1]), !keeps);
  }
  const auto named = [] { return utils::create_selective_checkpoint_contexts({"mm"}); };
  EXPECT_TRUE(equal(gradient(checkpoint(f, x, with(&CheckpointOptions::context_fn, named)), x), expected[0]));
  EXPECT_THROW(utils::create_selective_checkpoint_contexts({"no_such_operator"}), Error);
}

TEST(SelectiveCheckpoint, ServesModulesAndPassesTwice) {
  manual_seed(0);
  nn::Sequential net(nn::Linear(4, 6), nn::GELU(), nn::Linear(6, 4), nn::LayerNorm(nn::LayerNormOptions({4})), nn::ReLU());
  net->to(kDouble);
  const Tensor x = rand({3, 4}, kDouble).requires_grad_();
  const Function f = [&](const Tensor& t) { return net->forward(t); };
  const Tensor expected = gradient(f(x), x);
  for (const CheckpointPolicy policy : {CheckpointPolicy::MUST_SAVE, CheckpointPolicy::MUST_CPU_OFFLOAD, CheckpointPolicy::MUST_RECOMPUTE}) {
    Asked asked{{}, {}, policy};
    const Tensor y = checkpoint(f, x, asked.options());
    EXPECT_TRUE(allclose(gradient(y, x, true), expected, 1e-12));
    EXPECT_TRUE(allclose(gradient(y, x), expected, 1e-12));
    EXPECT_GT(asked.first.size(), 4u);
  }
}

TEST(SelectiveCheckpoint, NoticesWhatWasChangedInPlace) {
  const Function f = [](const Tensor& t) {
    Tensor y = t * 2;
    y.add_(1);
    return y.sin();
  };
  const Tensor x = leaf();
  Asked asked{{}, {}, CheckpointPolicy::MUST_SAVE};
  EXPECT_TRUE(contains(error_of([&] { gradient(checkpoint(f, x, asked.options()), x); }), "written since"));
}

TEST(SelectiveCheckpoint, NoticesOperatorsThatRunMoreOften) {
  const Tensor x = leaf();
  Asked asked{{}, {}, CheckpointPolicy::MUST_SAVE};
  CheckpointOptions options = asked.options();
  options.early_stop = false;
  int turns = 0;
  const Function more_often = [&](const Tensor& t) {
    Tensor y = t;
    for (int i = 0; i <= turns; i++) y = y.sin();
    turns++;
    return y.exp();
  };
  const Tensor y = checkpoint(more_often, x, options);
  EXPECT_TRUE(contains(error_of([&] { gradient(y, x); }), "backward runs sin 2 times, the first run 1 times: its results are kept for those only"));
}

}  // namespace
