// A custom op with a gradient, spelled as LibTorch programs spell it.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/torch.h>

namespace {

torch::Tensor square_cpu(const torch::Tensor& x, int64_t times) {
  TORCH_CHECK(times > 0, "square: expected a positive number, got ", times);
  torch::Tensor out = x.clone();
  for (int64_t i = 0; i < times; i++) out = out * out;
  return out;
}

torch::Tensor square(const torch::Tensor& x, int64_t times) {
  static auto op = torch::Dispatcher::singleton().findSchemaOrThrow("torchdemo::square", "").typed<decltype(square)>();
  return op.call(x, times);
}

class SquareFunction : public torch::autograd::Function<SquareFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, const torch::Tensor& x, int64_t times) {
    ctx->save_for_backward({x});
    ctx->saved_data["times"] = times;
    at::AutoDispatchBelowADInplaceOrView below;
    return square(x, times);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    TORCH_CHECK(ctx->saved_data["times"].toInt() == 1, "square: the gradient is for one squaring");
    return {grads[0] * 2 * ctx->get_saved_variables()[0], torch::Tensor()};
  }
};

torch::Tensor square_autograd(const torch::Tensor& x, int64_t times) { return SquareFunction::apply(x, times); }

}  // namespace

TORCH_LIBRARY(torchdemo, m) { m.def("square(Tensor x, int times=1) -> Tensor"); }
TORCH_LIBRARY_IMPL(torchdemo, CPU, m) { m.impl("square", square_cpu); }
TORCH_LIBRARY_IMPL(torchdemo, Autograd, m) { m.impl("square", TORCH_FN(square_autograd)); }
TORCH_LIBRARY_FRAGMENT(torchdemo, m) {
  m.def("cube(Tensor x) -> Tensor", [](const torch::Tensor& x) { return x * x * x; });
}
