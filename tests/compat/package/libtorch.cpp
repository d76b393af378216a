#include <torch/torch.h>

#include <iostream>

int main() {
  torch::Tensor x = torch::rand({2, 3});
  std::cout << x << std::endl;
  return torch::nn::Linear(3, 4)(x).size(1) == 4 ? 0 : 1;
}
