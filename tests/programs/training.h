#pragma once
// The programs of training.py in C++.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cresset/cresset.h"
#include "cresset/nn/all.h"
#include "cresset/optim/all.h"

namespace training {

using namespace cresset;
namespace F = nn::functional;

struct Losses : std::vector<double> {
  void add(const Tensor& loss) { push_back(loss.item<double>()); }
};
using Program = std::function<void(Losses&)>;

void add_dense(std::map<std::string, Program>& programs);
void add_images(std::map<std::string, Program>& programs);
void add_sequences(std::map<std::string, Program>& programs);
void add_methods(std::map<std::string, Program>& programs);

inline std::vector<Tensor> batches(int count, const std::vector<int64_t>& shape) {
  std::vector<Tensor> all;
  for (int i = 0; i < count; i++) all.push_back(randn(shape));
  return all;
}

// Layers in the order in which they are made: C++ leaves that of arguments open, and each draws its weights.
template <class... Layers> nn::Sequential chain(Layers... make) {
  nn::Sequential model;
  (model->push_back(make()), ...);
  return model;
}
#define LAYER(...) [&] { return nn::__VA_ARGS__; }

template <class... Modules> std::vector<Tensor> parameters_of(const Modules&... modules) {
  std::vector<Tensor> all;
  const auto add = [&](const std::vector<Tensor>& own) { all.insert(all.end(), own.begin(), own.end()); };
  (add(modules->parameters()), ...);
  return all;
}

template <class Optimizer> void minimize(Optimizer& optimizer, const Tensor& loss) {
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
}

}  // namespace training
