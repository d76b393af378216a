#pragma once
// Autograd's per-tensor data: gradient, history, hooks. Tensors that need none of it have none.

#include "cresset/autograd/node.h"

namespace cresset {
namespace autograd {

struct CRESSET_API AutogradMeta final : public AutogradMetaInterface {
  AutogradMeta();
  ~AutogradMeta() override;
  static void* operator new(size_t n) { return cpu_allocate(n); }
  static void operator delete(void* p, size_t n) { cpu_deallocate(p, n); }

  bool requires_grad() const override { return requires_grad_ || grad_fn_; }
  bool has_hooks() const;

  struct Extras;  // cresset/autograd/meta_extras.h
  Extras& extras();

  // Serialises the creation of the gradient accumulator.
  void lock();
  void unlock() { locked_.store(false, std::memory_order_release); }

  intrusive_ptr<Node> grad_fn_;
  Tensor grad_;
  // Weak, as the accumulator holds the tensor.
  weak_intrusive_ptr<Node> grad_accumulator_;
  Owned<Extras> extras_;
  uint32_t output_nr_ = 0;
  bool requires_grad_ = false;
  bool retains_grad_ = false;
  std::atomic<bool> locked_{false};
};

}  // namespace autograd
}  // namespace cresset
