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
  m.def(torch::schema("same(Tensor a) -> Tensor"), {at::Tag::pt2_compliant_tag});
}
TORCH_LIBRARY_IMPL(boxed_ops, CPU, m) {
  m.impl("count", torch::CppFunction::makeFromBoxedFunction<&count_arguments>());
  m.impl("same", [](const torch::Tensor& a) { return a; });
}
TORCH_LIBRARY_IMPL(boxed_ops, Autograd, m) {
  m.impl("same", torch::CppFunction::makeFallthrough());
  m.impl("count", torch::autograd::autogradNotImplementedFallback());
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
