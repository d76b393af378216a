// C++ runs the model that save_model.py saved, without Python: serve model.pt

#include <cstdio>

#include <torch/script.h>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s model.pt\n", argv[0]);
    return 2;
  }
  try {
    torch::jit::Module model = torch::jit::load(argv[1]);
    const torch::NoGradGuard no_grad;
    const torch::Tensor out = model.forward({torch::ones({2, 1, 8, 8}), 3}).toTensor();
    std::printf("sum %.4f\n", out.sum().item<float>());
  } catch (const c10::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
