// Gradients: leaves, higher order, hooks, custom functions, modes.
#include <torch/torch.h>

#include <functional>
#include <iostream>
#include <vector>

#include "expect.h"

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using torch::autograd::variable_list;

// x W^T (+ b) with its gradients written out.
class Affine : public torch::autograd::Function<Affine> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x, torch::Tensor w, torch::Tensor b = torch::Tensor()) {
    ctx->save_for_backward({x, w, b});
    auto y = x.matmul(w.t());
    return b.defined() ? y + b : y;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &w = saved[1], &b = saved[2];
    return {grads[0].matmul(w), grads[0].t().matmul(x), b.defined() ? grads[0].sum(0) : torch::Tensor()};
  }
};

// Scales the gradient on its way back, not the value.
struct ScaleGradient : public torch::autograd::Function<ScaleGradient> {
  static variable_list forward(AutogradContext* ctx, const torch::Tensor& x, double factor) {
    ctx->saved_data["factor"] = factor;
    return {x.clone()};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) { return {grads[0] * ctx->saved_data["factor"].toDouble(), torch::Tensor()}; }
};

static void leaves_and_histories() {
  auto x = torch::full({2, 3}, 2.0, torch::requires_grad());
  auto y = (x * x + 1).log();
  std::cout << "history of y: " << y.grad_fn()->name() << std::endl;
  check(x.is_leaf() && !y.is_leaf() && y.requires_grad(), "leaves");
  y.sum().backward();
  check(torch::allclose(x.grad(), torch::full({2, 3}, 0.8)), "d log(x^2 + 1)");
  y = x.detach();
  check(!y.requires_grad() && torch::equal(y, x), "detach");
  {
    torch::NoGradGuard guard;
    check(!(x * 2).requires_grad(), "NoGradGuard");
    torch::AutoGradMode again(true);
    check((x * 2).requires_grad(), "AutoGradMode");
  }
  {
    torch::InferenceMode guard;
    check((x * 2).is_inference(), "InferenceMode");
  }
  auto v = torch::tensor({1.0, 10.0, 100.0}, torch::kFloat);
  auto z = torch::ones({3}, torch::requires_grad());
  (z * 3).backward(v);
  check(torch::equal(z.grad(), v * 3), "backward with a vector");
}

static void higher_order() {
  auto x = torch::tensor({1.5, -0.5}).requires_grad_();
  auto first = torch::autograd::grad({x.pow(4).sum()}, {x}, /*grad_outputs=*/{}, /*retain_graph=*/torch::nullopt, /*create_graph=*/true)[0];
  auto second = torch::autograd::grad({first.sum()}, {x})[0];
  check(torch::allclose(second, 12 * x.pow(2)), "second derivative");
  torch::nn::Linear model(4, 3);
  auto input = torch::randn({3, 4}).requires_grad_(true);
  auto output = model(input);
  auto gradient = torch::autograd::grad({output}, {input}, {torch::ones_like(output)}, true, true)[0];
  auto penalty = (gradient.norm(2, /*dim=*/1) - 1).pow(2).mean();
  (torch::nn::MSELoss()(output, torch::zeros({3, 3})) + penalty).backward();
  check(model->weight.grad().defined() && input.grad().defined(), "gradient penalty");
}

static void functions_of_ones_own() {
  auto x = torch::randn({2, 3}, torch::requires_grad()), w = torch::randn({4, 3}, torch::requires_grad()), b = torch::zeros({4}, torch::requires_grad());
  Affine::apply(x, w).sum().backward();
  check(torch::allclose(x.grad(), w.sum(0).expand({2, 3}), 1e-4, 1e-5), "affine, input");
  Affine::apply(x, w, b).sum().backward();
  check(torch::allclose(b.grad(), torch::full({4}, 2.0)), "affine, bias");
  auto y = torch::ones({2}, torch::requires_grad());
  ScaleGradient::apply(y, -0.5)[0].sum().backward();
  check(torch::equal(y.grad(), torch::full({2}, -0.5)), "scaled gradient");
}

static void hooks_and_mistakes() {
  auto x = torch::ones({3}, torch::requires_grad());
  auto y = x * 2;
  int calls = 0;
  y.register_hook([](torch::Tensor grad) { return grad * 10; });
  y.register_hook([&](torch::Tensor) { calls++; });
  y.retain_grad();
  y.sum().backward();
  check(calls == 1 && x.grad().sum().item<float>() == 60, "hooks");
  check(y.grad().sum().item<float>() == 30, "retain_grad");
  auto z = (x * x).sum();
  const std::vector<std::function<void()>> mistakes = {[&] {
                                                         z.backward();
                                                         z.backward();
                                                       },
                                                       [&] { x.mul_(2); }, [] { torch::ones({2}, torch::requires_grad()).backward(); }};
  for (auto& mistake : mistakes) {
    try {
      mistake();
      check(false, "a mistake raises");
    } catch (const c10::Error& e) { std::cout << e.what_without_backtrace() << std::endl; }
  }
}

int main() {
  torch::manual_seed(1);
  leaves_and_histories();
  higher_order();
  functions_of_ones_own();
  hooks_and_mistakes();
  return failures;
}
