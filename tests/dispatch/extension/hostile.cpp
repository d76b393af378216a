// Operators that do what they must not; tests/python/utils/hostile_extension_test.py calls them.

#include <torch/library.h>
#include <torch/torch.h>

#include <stdexcept>

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

int64_t freed_so_far = 0;

Tensor throws(const Tensor&) { throw std::runtime_error("the kernel is out of paper"); }
Tensor throws_int(const Tensor&) { throw 42; }
void drops(const c10::OperatorHandle&, torch::jit::Stack* stack) { stack->clear(); }
void leaves(const c10::OperatorHandle&, torch::jit::Stack*) {}
void wrong_kind(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  stack->clear();
  stack->push_back(3);
}

struct WrongGrad : torch::autograd::Function<WrongGrad> {
  static Tensor forward(AutogradContext*, Tensor x) { return x.clone(); }
  static variable_list backward(AutogradContext*, variable_list) { return {torch::ones({7})}; }
};
struct FewGrads : torch::autograd::Function<FewGrads> {
  static Tensor forward(AutogradContext*, Tensor x, Tensor y) { return x * y; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0]}; }
};

Tensor freed(const Tensor&) {
  auto* data = new float[4]{1, 2, 3, 4};
  return torch::from_blob(data, {4}, [data](void*) {
    freed_so_far++;
    delete[] data;
  });
}

}  // namespace

TORCH_LIBRARY(hostile, m) {
  m.def("throws(Tensor x) -> Tensor", &throws);
  m.def("throws_int(Tensor x) -> Tensor", &throws_int);
  m.def("drops(Tensor x) -> Tensor", torch::CppFunction::makeFromBoxedFunction<&drops>());
  m.def("leaves(Tensor x, int n) -> Tensor", torch::CppFunction::makeFromBoxedFunction<&leaves>());
  m.def("wrong_kind(Tensor x) -> Tensor", torch::CppFunction::makeFromBoxedFunction<&wrong_kind>());
  m.def("wrong_grad(Tensor x) -> Tensor", [](const Tensor& x) { return WrongGrad::apply(x); });
  m.def("few_grads(Tensor x) -> Tensor", [](const Tensor& x) { return FewGrads::apply(x, x); });
  m.def("freed(Tensor x) -> Tensor", &freed);
  m.def("freed_so_far() -> int", [] { return freed_so_far; });
}
