#include <torch/distributions.h>
#include <torch/torch.h>

#include <iostream>

int main() {
  torch::Tensor x = torch::rand({2, 3});
  std::cout << x << std::endl;
  const torch::distributions::Normal law(x, 1.0);
  return torch::nn::Linear(3, 4)(law.sample()).size(1) == 4 ? 0 : 1;
}
