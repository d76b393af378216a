#pragma once
// Tensors that transforms of functions keep for backward, of which listeners do not hear.

namespace cresset::autograd {

// In its scope tensors that nodes of this thread keep, and give back, are not heard.
class KeptUnheard {
 public:
  KeptUnheard();
  ~KeptUnheard();
  KeptUnheard(const KeptUnheard&) = delete;
  KeptUnheard& operator=(const KeptUnheard&) = delete;

 private:
  const bool saved_;
};

}  // namespace cresset::autograd
