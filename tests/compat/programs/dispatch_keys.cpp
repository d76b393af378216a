// Dispatch keys by LibTorch's names: sets of them, guards, and kernels registered for a key.
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>
#include <torch/torch.h>

#include "expect.h"

namespace {

torch::Tensor twice(const torch::Tensor& x) { return x * 2; }

TORCH_LIBRARY(dispatch_keys, m) {
  m.def("twice(Tensor x) -> Tensor");
  m.impl("twice", torch::dispatch(c10::DispatchKey::CPU, &twice));
}

}  // namespace

int main() {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("dispatch_keys::twice", "").typed<torch::Tensor(const torch::Tensor&)>();
  CHECK_THAT(op.call(torch::ones(2)).sum().item<float>() == 4);

  const c10::DispatchKeySet set{c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU};
  CHECK_THAT(set.has(c10::DispatchKey::CPU) && set.highestPriorityTypeId() == c10::DispatchKey::AutogradCPU);
  CHECK_THAT(c10::parseDispatchKey("CPU") == c10::DispatchKey::CPU);

  const torch::Tensor x = torch::ones(2, torch::requires_grad());
  {
    const c10::impl::ExcludeDispatchKeyGuard guard(c10::autograd_dispatch_keyset);
    CHECK_THAT(!(x * 2).requires_grad());
  }
  CHECK_THAT((x * 2).requires_grad());

  bool refused = false;
  try {
    torch::ones(2).index({});
  } catch (const c10::IndexError&) { refused = true; }
  CHECK_THAT(refused);
  return failures;
}
