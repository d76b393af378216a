// The contexts and hooks that Python has in torch.autograd.graph.

#include "cresset/autograd/graph.h"

#include "tests/autograd/support.h"

namespace cresset {
namespace {

using autograd::variable_list;
namespace graph = autograd::graph;

TEST(Graph, AnEdgeStandsForItsTensor) {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  const graph::GradientEdge edge = graph::get_gradient_edge(y);
  EXPECT_EQ(edge.function->name(), "MulBackward0");
  EXPECT_TRUE(contains(error_of([&] { graph::get_gradient_edge(vec({1})); }), "does not require gradients"));
}

TEST(Graph, AVersionCanBeIncremented) {
  const Tensor x = leaf({2}), a = vec({1}), b = vec({1});
  const Tensor y = x * a;
  graph::increment_version({a, b});
  EXPECT_EQ(b._version(), 1u);
  EXPECT_TRUE(contains(error_of([&] { y.backward(); }), "modified by an inplace operation"));
  const InferenceMode mode;
  const Tensor c = vec({1});
  EXPECT_TRUE(contains(error_of([&] { graph::increment_version(c); }), "inference tensors"));
}

TEST(Graph, SavingOnTheCpuKeepsGradients) {
  const Tensor x = leaf({3});
  Tensor y;
  {
    const graph::save_on_cpu guard;
    y = x * x;
    EXPECT_FALSE(error_of([] { autograd::SavedTensorDefaultHooks::disable("taken"); }).empty());
  }
  y.backward();
  EXPECT_EQ(numbers(x.grad()), (Numbers{6}));
}

TEST(Graph, HooksOnSavedTensorsCanBeForbidden) {
  {
    const graph::disable_saved_tensors_hooks outer("outer");
    {
      const graph::disable_saved_tensors_hooks inner("inner");
      EXPECT_TRUE(contains(error_of([] { graph::save_on_cpu guard; }), "inner"));
    }
    EXPECT_TRUE(contains(error_of([] { graph::save_on_cpu guard; }), "outer"));
  }
  const graph::save_on_cpu guard;
}

TEST(Graph, SavedTensorsMayChangeWhereThatIsAllowed) {
  const Tensor x = leaf({1, 2});
  Tensor late;
  {
    graph::allow_mutation_on_saved_tensors context;
    const Tensor y = x.clone();
    const Tensor z = y * y;
    y.zero_();
    z.sum().backward();
    EXPECT_EQ(numbers(x.grad()), (Numbers{2, 4}));
    EXPECT_TRUE(contains(error_of([] { graph::allow_mutation_on_saved_tensors again; }), "cannot be nested"));
    late = (x * x).sum();
    const Tensor cleared = (x * x).sum();
    context.clear();
    EXPECT_TRUE(contains(error_of([&] { cleared.backward(); }), "after clear()"));
  }
  EXPECT_TRUE(contains(error_of([&] { late.backward(); }), "outside of the context"));
  const graph::allow_mutation_on_saved_tensors next;
}

TEST(MultiGradHook, RunsOnceWithAllGradients) {
  const Tensor a = leaf({1}), b = leaf({1}), c = leaf({1});
  std::vector<std::vector<Numbers>> calls;
  auto handle = graph::register_multi_grad_hook({a, b, c}, [&](const variable_list& grads) {
    calls.emplace_back();
    for (const Tensor& g : grads) calls.back().push_back(numbers(g));
  });
  (a * 2 + b * 3).backward();  // c takes no part
  (a * b * c).backward();
  EXPECT_EQ(calls, (std::vector<std::vector<Numbers>>{{{2}, {3}, {}}, {{1}, {1}, {1}}}));
  handle.remove();
  (a * 2).backward();
  EXPECT_EQ(calls.size(), 2u);
}

TEST(MultiGradHook, RunsWithTheFirstGradient) {
  const Tensor x = leaf({1});
  const Tensor early = x * 2;
  const Tensor later = early * 5;
  std::vector<Numbers> seen;
  graph::register_multi_grad_hook(
      {early, later}, [&](const variable_list& grads) { seen.push_back(numbers(grads.at(0))); }, graph::MultiGradMode::Any);
  (later * 7).backward();
  EXPECT_EQ(seen, (std::vector<Numbers>{{7}}));
  EXPECT_TRUE(contains(error_of([&] { graph::register_multi_grad_hook({vec({1})}, [](const variable_list&) {}); }), "does not require gradients"));
}

TEST(MultiGradHook, LetsGoOfTheGraph) {
  weak_intrusive_ptr<autograd::Node> node;
  {
    const Tensor y = leaf({1}) * 2;
    node = weak_intrusive_ptr<autograd::Node>(y.grad_fn());
    graph::register_multi_grad_hook({y}, [](const variable_list&) {});
  }
  EXPECT_FALSE(node.lock());
}

}  // namespace
}  // namespace cresset
