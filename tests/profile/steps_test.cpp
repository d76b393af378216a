// The calls within a call that PyTorch makes and our kernels do not: which there are, what time and memory they have.

#include "cresset/profile/steps.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cresset/cresset.h"
#include "cresset/profile/recorder.h"

namespace cresset::profile {
namespace {

template <class F> std::vector<Event> recorded(F&& body, const Options& options = {}) {
  start(options);
  body();
  Trace trace = stop();
  return std::move(trace.threads.at(0).events);
}
// "a(b c(d))"
std::string tree(const std::vector<Event>& events, int32_t parent = -1) {
  std::ostringstream out;
  for (size_t i = 0; i < events.size(); i++) {
    if (events[i].parent != parent) continue;
    const std::string within = tree(events, static_cast<int32_t>(i)), name = events[i].full_name();
    out << (out.tellp() > 0 ? " " : "") << name.substr(name.rfind(':') + 1) << (within.empty() ? "" : "(" + within + ")");
  }
  return out.str();
}
const Event& event(const std::vector<Event>& events, const std::string& name) {
  for (const Event& e : events)
    if (e.full_name() == name) return e;
  ADD_FAILURE() << "no event " << name;
  return events.at(0);
}
int64_t length(const Event& e) { return e.end_ns - e.start_ns; }

TEST(Steps, ALinearLayerIsAProductByATransposedWeight) {
  const Tensor x = ones({2, 3}), w = ones({4, 3}), b = ones({4});
  EXPECT_EQ(tree(recorded([&] { linear(x, w, b); })), "linear(t(transpose(as_strided)) addmm(expand(as_strided) copy_ resolve_conj resolve_conj))");
}

TEST(Steps, WhichOnesThereAreDependsOnStridesAndDtypes) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(tree(recorded([&] { x.contiguous(); })), "contiguous");
  EXPECT_EQ(tree(recorded([&] { reshape(x, {6}); })), "reshape(view)");
  const Tensor turned = x.t();
  EXPECT_EQ(tree(recorded([&] { reshape(turned, {6}); })), "reshape(clone(empty_like(empty) copy_) _unsafe_view)");
  const Tensor whole = ones({2, 3}, kLong);
  EXPECT_EQ(tree(recorded([&] { add(x, x); })), "add");
  EXPECT_EQ(tree(recorded([&] { add(x, whole); })), "add(to(_to_copy(empty_strided copy_)))");
}

TEST(Steps, TheOneThatWorksHasTheTimeAndIsMarked) {
  const Tensor x = ones({64, 64}), w = ones({64, 64}), b = ones({64});
  const auto events = recorded([&] { linear(x, w, b); });
  EXPECT_FALSE(event(events, "aten::linear").is_step);
  EXPECT_TRUE(event(events, "aten::addmm").is_step);
  EXPECT_EQ(length(event(events, "aten::addmm")), length(event(events, "aten::linear")));
  EXPECT_EQ(length(event(events, "aten::t")), 0);
  EXPECT_EQ(length(event(events, "aten::copy_")), 0);
}

TEST(Steps, MemoryBelongsToTheStepThatTakesIt) {
  Options options;
  options.memory = true;
  const auto events = recorded([] { ones({1000}); }, options);
  EXPECT_EQ(tree(events), "ones(empty fill_)");
  EXPECT_EQ(event(events, "aten::empty").memory, 4000);
  EXPECT_EQ(event(events, "aten::ones").memory, 0);
}

TEST(Steps, InputsOfStepsAreSaidWhereShapesAreAskedFor) {
  const Tensor x = ones({2, 3}), w = ones({4, 3}), b = ones({4});
  Options options;
  options.shapes = true;
  const auto events = recorded([&] { linear(x, w, b); }, options);
  const auto& inputs = event(events, "aten::addmm").inputs;
  ASSERT_EQ(inputs.size(), 5u);
  EXPECT_EQ(inputs[2].sizes.at(0), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(inputs[2].strides.at(0), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(inputs[3].value, "1");
  EXPECT_TRUE(event(recorded([&] { linear(x, w, b); }), "aten::addmm").inputs.empty());
}

TEST(Steps, NamedScopesWithinACallKeepTheEventsThatRan) {
  const auto events = recorded([] {
    const RecordFunction scope("part");
    ones({2});
  });
  EXPECT_EQ(tree(events), "part(ones(empty fill_))");
}

}  // namespace
}  // namespace cresset::profile
