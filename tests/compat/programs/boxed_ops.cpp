// Registration and boxed calls as LibTorch programs spell them.
#include <torch/library.h>
#include <torch/torch.h>

#include <iostream>

namespace {

torch::Tensor plus(const torch::Tensor& x, int64_t n) { return x + n; }

void count_arguments(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto n = static_cast<int64_t>(op.schema().arguments().size());
  torch::jit::drop(*stack, static_cast<size_t>(n));
  torch::jit::push(*stack, n);
}

}  // namespace

TORCH_LIBRARY(boxed_ops, m) {
  m.def("plus", &plus);
  m.def("count(Tensor a, Tensor b) -> int");
  m.def("view(Tensor(a) a) -> Tensor(a)");
  m.def("views(Tensor(a) a, Tensor(b) b) -> (Tensor(a), Tensor(b))");
  m.def("second(Tensor a, Tensor(b) b) -> (Tensor, Tensor(b))");
  m.def(torch::schema("same(Tensor a) -> Tensor"), {at::Tag::pt2_compliant_tag});
}
TORCH_LIBRARY_IMPL(boxed_ops, CPU, m) {
  m.impl("count", torch::CppFunction::makeFromBoxedFunction<&count_arguments>());
  m.impl("same", [](const torch::Tensor& a) { return a; });
  m.impl("view", [](const torch::Tensor& a) { return a.view(-1); });
  m.impl("views", [](const torch::Tensor& a, const torch::Tensor& b) { return std::make_tuple(a.view(-1), b.view(-1)); });
  m.impl("second", [](const torch::Tensor& a, const torch::Tensor& b) { return std::make_tuple(a.clone(), b.view(-1)); });
}
TORCH_LIBRARY_IMPL(boxed_ops, Autograd, m) {
  m.impl("same", torch::CppFunction::makeFallthrough());
  for (const char* name : {"count", "view", "views", "second"}) m.impl(name, torch::autograd::autogradNotImplementedFallback());
}
TORCH_LIBRARY_IMPL(boxed_ops, PrivateUse1, m) { m.impl("same", TORCH_FN(torch::relu)); }

#define EXPECT(condition) \
  if (!(condition)) return std::cerr << "line " << __LINE__ << ": " #condition "\n", 1

int main() {
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto op = dispatcher.findSchema({"boxed_ops::plus", ""});
  EXPECT(op.has_value());
  torch::jit::Stack stack;
  torch::jit::push(stack, torch::ones({2}), 3);
  op->callBoxed(&stack);
  EXPECT(torch::jit::pop(stack).toTensor().sum().item<float>() == 8);
  EXPECT(!c10::findSchemaDifferences(torch::jit::parseSchema("boxed_ops::plus(Tensor x, int n) -> Tensor"), op->schema()));
  EXPECT(op->typed<torch::Tensor(const torch::Tensor&, int64_t)>().call(torch::zeros({1}), 4).item<float>() == 4);

  torch::jit::push(stack, torch::ones({1}), torch::ones({1}));
  dispatcher.findSchemaOrThrow("boxed_ops::count", "").callBoxed(&stack);
  EXPECT(torch::jit::peek(stack, 0, 1).toInt() == 2);
  EXPECT(dispatcher.findSchemaOrThrow("boxed_ops::same", "").hasTag(at::Tag::pt2_compliant_tag));
  EXPECT(!dispatcher.findSchema({"boxed_ops::none", ""}));

  // The way back of a view without a formula is not known: what is written through it would have no gradient.
  const auto raises = [](auto&& f) {
    try {
      f();
    } catch (const c10::Error&) { return true; }
    return false;
  };
  const auto make_view = dispatcher.findSchemaOrThrow("boxed_ops::view", "").typed<torch::Tensor(const torch::Tensor&)>();
  const auto base = torch::ones({2}, torch::requires_grad()).clone(), view = make_view.call(base);
  EXPECT(view.is_view() && raises([&] { view.add_(1); }));
  base.add_(1);
  EXPECT(raises([&] { view.grad_fn(); }) && !make_view.call(torch::ones({2})).add_(1).requires_grad());
  using Pair = std::tuple<torch::Tensor, torch::Tensor>(const torch::Tensor&, const torch::Tensor&);
  for (const char* name : {"boxed_ops::views", "boxed_ops::second"})
    EXPECT(raises([&] { dispatcher.findSchemaOrThrow(name, "").typed<Pair>().call(base, base); }));

  auto m = MAKE_TORCH_LIBRARY(boxed_ops_more);
  m.def("twice", torch::dispatch(c10::kCPU, [](const torch::Tensor& x) { return 2 * x; }));
  EXPECT(dispatcher.findOp({"boxed_ops_more::twice", ""}).has_value());
  try {
    auto again = MAKE_TORCH_LIBRARY(boxed_ops_more);
    EXPECT(false);
  } catch (const c10::Error& e) { EXPECT(std::string(e.what()).find("Only a single TORCH_LIBRARY") != std::string::npos); }
  std::cout << op->schema() << "\n";
  return 0;
}
