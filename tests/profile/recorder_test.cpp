// Recording: what events there are, how they nest, what is said of inputs, memory and operations, and what costs nothing.

#include "cresset/profile/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "cresset/cresset.h"
#include "cresset/profile/observers.h"
#include "tests/error_of.h"

namespace cresset::profile {
namespace {

template <class F> Trace recorded(const Options& options, F&& body) {
  start(options);
  body();
  return stop();
}
std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> found;
  for (const ThreadLog& log : trace.threads)
    for (const Event& e : log.events) found.push_back(e.full_name());
  return found;
}
bool has(const Trace& trace, const std::string& name) {
  const auto all = names(trace);
  return std::find(all.begin(), all.end(), name) != all.end();
}
const Event& event(const Trace& trace, const std::string& name) {
  for (const ThreadLog& log : trace.threads)
    for (const Event& e : log.events)
      if (e.full_name() == name) return e;
  ADD_FAILURE() << "no event " << name;
  static const Event none;
  return none;
}

TEST(Recorder, CallsAreEventsUnderPyTorchsNamesWithTimes) {
  const Tensor x = ones({4});
  const Trace trace = recorded({}, [&] { x.sin(); });
  EXPECT_EQ(names(trace), std::vector<std::string>{"aten::sin"});
  EXPECT_GT(event(trace, "aten::sin").end_ns, event(trace, "aten::sin").start_ns);
}

TEST(Recorder, PartsOfACompositeLieWithinIt) {
  const Tensor x = ones({2, 3}), w = ones({4, 3});
  const Trace trace = recorded({}, [&] { linear(x, w); });
  const ThreadLog& log = trace.threads.at(0);
  EXPECT_EQ(log.events[0].full_name(), "aten::linear");
  EXPECT_EQ(log.events[0].parent, -1);
  for (size_t i = 1; i < log.events.size(); i++) {
    EXPECT_GE(log.events[i].parent, 0);
    EXPECT_LT(log.events[i].parent, static_cast<int32_t>(i));
  }
}

TEST(Recorder, NamedScopesNestAndEndWithTheirBlock) {
  const Trace trace = recorded({}, [] {
    CRESSET_RECORD_FUNCTION("outer");
    {
      CRESSET_RECORD_FUNCTION("inner");
      ones({1});
    }
    zeros({1});
  });
  const auto& events = trace.threads.at(0).events;
  EXPECT_EQ(events[0].name, "outer");
  EXPECT_EQ(events[1].name, "inner");
  EXPECT_EQ(events[1].parent, 0);
  EXPECT_EQ(event(trace, "aten::zeros").parent, 0);
  EXPECT_EQ(events[0].scope, Scope::User);
}

TEST(Recorder, BackwardHasItsNodesWithTheNumbersOfTheCallsThatMadeThem) {
  const Tensor x = ones({3}).requires_grad_();
  const Trace trace = recorded({}, [&] { (x * 2).sum().backward(); });
  EXPECT_EQ(event(trace, "aten::mul").sequence_nr, event(trace, "MulBackward0").sequence_nr);
  EXPECT_EQ(event(trace, "MulBackward0").scope, Scope::BackwardFunction);
  EXPECT_TRUE(has(trace, "autograd::engine::evaluate_function: SumBackward0"));
  EXPECT_TRUE(has(trace, "torch::autograd::AccumulateGrad"));
}

TEST(Recorder, InputsSayShapesTypesAndValues) {
  Options options;
  options.shapes = true;
  const Tensor x = ones({2, 3});
  const Trace trace = recorded(options, [&] { add(x, x, 3); });
  const auto& inputs = event(trace, "aten::add").inputs;
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].sizes.at(0), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(inputs[0].strides.at(0), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(inputs[0].type, "float");
  EXPECT_EQ(inputs[2].type, "Scalar");
  EXPECT_EQ(inputs[2].value, "3");
}

TEST(Recorder, InputsOfEveryKindAreReadBack) {
  Options options;
  options.shapes = true;
  const Tensor x = ones({2, 3}), rows = zeros({1}, kLong);
  const Trace trace = recorded(options, [&] {
    x.sum({0, 1}, true, kDouble);
    cat({x, x.t().contiguous().t()});
    index(x, {std::nullopt, rows});
    x.mul(2.5);
    x.div(x, "floor");
  });
  const auto& sum = event(trace, "aten::sum").inputs;
  ASSERT_EQ(sum.size(), 4u);
  EXPECT_EQ(sum[1].value, "[0, 1]");
  EXPECT_EQ(sum[2].value, "True");
  EXPECT_EQ(sum[3].value, std::to_string(static_cast<int>(kDouble)));
  const auto& lists = event(trace, "aten::cat").inputs;
  EXPECT_TRUE(lists[0].is_list);
  EXPECT_EQ(lists[0].strides, (std::vector<std::vector<int64_t>>{{3, 1}, {1, 2}}));
  const auto& places = event(trace, "aten::index").inputs;
  EXPECT_EQ(places[1].sizes, (std::vector<std::vector<int64_t>>{{1}}));
  EXPECT_EQ(event(trace, "aten::mul").inputs[1].value, "2.5");
  EXPECT_EQ(event(trace, "aten::div").inputs[2].type, "");
}

TEST(Recorder, MemoryIsCountedForTheEventThatTookIt) {
  Options options;
  options.memory = true;
  const Trace trace = recorded(options, [] { empty({1000}); });
  EXPECT_EQ(event(trace, "aten::empty").memory, 4000);
  const auto& memory = trace.threads.at(0).memory;
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0].bytes, 4000);
  EXPECT_EQ(memory[1].bytes, -4000);
  EXPECT_EQ(memory[1].total, 0);
}

TEST(Recorder, OperationsOfProductsAndConvolutions) {
  Options options;
  options.flops = true;
  const Tensor a = ones({2, 3}), b = ones({3, 4}), image = ones({1, 2, 4, 4}), filter = ones({3, 2, 3, 3});
  const Trace trace = recorded(options, [&] {
    mm(a, b);
    conv2d(image, filter);
    add(a, a);
  });
  EXPECT_EQ(event(trace, "aten::mm").flops, 48);
  EXPECT_EQ(event(trace, "aten::conv2d").flops, 432);
  EXPECT_EQ(event(trace, "aten::add").flops, 6);
}

TEST(Recorder, OtherThreadsAreNotRecorded) {
  const Trace trace = recorded({}, [] {
    std::thread([] { ones({1}).tan(); }).join();
    ones({1}).atan();
  });
  EXPECT_FALSE(has(trace, "aten::tan"));
  EXPECT_TRUE(has(trace, "aten::atan"));
}

TEST(Recorder, NothingIsRecordedWhilePaused) {
  const Tensor x = ones({1});
  const Trace trace = recorded({}, [&] {
    x.sin();
    pause();
    x.cos();
    resume();
    x.tan();
  });
  EXPECT_EQ(names(trace), (std::vector<std::string>{"aten::sin", "aten::tan"}));
}

TEST(Recorder, ACallThatFailsEndsItsEvent) {
  const Tensor a = ones({2, 3});
  const Trace trace = recorded({}, [&] {
    EXPECT_NE(error_of([&] { mm(a, a); }), "");
    a.sin();
  });
  EXPECT_GT(event(trace, "aten::mm").end_ns, 0);
  EXPECT_EQ(event(trace, "aten::sin").parent, -1);
}

TEST(Recorder, OneRecordingAtATime) {
  start({});
  EXPECT_NE(error_of([] { start({}); }).find("a recording is under way"), std::string::npos);
  stop();
  EXPECT_NE(error_of([] { stop(); }).find("nothing is being recorded"), std::string::npos);
}

TEST(Recorder, ADetachedScopeEndsInAnotherThread) {
  const Tensor x = ones({4});
  std::function<void()> never;
  const Trace trace = recorded({}, [&] {
    RecordFunction outer("outer"), call("call");
    x.sin();
    const auto end = call.detach();
    x.cos();
    std::thread([&] { end(); }).join();
    x.exp();
    RecordFunction open("open");
    never = open.detach();
    x.tan();
  });
  const ThreadLog& log = trace.threads.at(0);
  EXPECT_EQ(log.events.at(static_cast<size_t>(event(trace, "aten::sin").parent)).name, "call");
  EXPECT_EQ(log.events.at(static_cast<size_t>(event(trace, "aten::cos").parent)).name, "outer");
  EXPECT_EQ(log.events.at(static_cast<size_t>(event(trace, "aten::tan").parent)).name, "outer");
  EXPECT_GE(event(trace, "call").end_ns, event(trace, "aten::cos").end_ns);
  EXPECT_LE(event(trace, "call").end_ns, event(trace, "aten::exp").start_ns);
  EXPECT_GE(event(trace, "open").end_ns, event(trace, "aten::tan").end_ns);
  never();  // after the recording
}

TEST(Recorder, ScopesOfAnEarlierRecordingDoNotEndEventsOfALater) {
  start({});
  auto scope = std::make_unique<RecordFunction>("early");
  stop();
  start({});
  ones({1});
  scope.reset();
  const Trace trace = stop();
  EXPECT_FALSE(has(trace, "early"));
  EXPECT_TRUE(has(trace, "aten::ones"));
}

TEST(Recorder, TheThreadIsAsBeforeWhenRecordingEnds) {
  const uint8_t before = layer_state().included;
  recorded({}, [] {});
  EXPECT_EQ(layer_state().included, before);
  EXPECT_FALSE(RecordFunction::is_active());
}

TEST(Observers, HearOfCallsAndScopesWithInputsWhereTheyAsk) {
  std::vector<std::string> told;
  Observer observer;
  observer.wants_inputs = true;
  observer.begins = [&](const Observation& what) {
    told.push_back(std::string("begins ") + (what.op ? what.op->name : what.name.c_str()) + (what.inputs ? " with inputs" : ""));
  };
  observer.ends = [&](const Observation& what) { told.push_back(std::string("ends ") + (what.op ? what.op->name : what.name.c_str())); };
  const Tensor x = ones({1});
  const uint64_t number = add_observer(std::move(observer));
  observe_thread(true);
  {
    const RecordFunction scope("part");
    x.sin();
  }
  remove_observer(number);
  observe_thread(false);
  x.cos();
  EXPECT_EQ(told, (std::vector<std::string>{"begins part", "begins sin with inputs", "ends sin", "ends part"}));
}

}  // namespace
}  // namespace cresset::profile
