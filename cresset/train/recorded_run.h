#pragma once
// A run of a model whose graph SummaryWriter::add_graph writes.

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cresset/core/tensor.h"

namespace cresset::nn {
class Module;
}

namespace cresset::train {

// While it lives the model is in evaluation mode, its frozen parameters have gradients, and operators record them.
class CRESSET_API RecordedRun {
 public:
  explicit RecordedRun(nn::Module& model);
  ~RecordedRun();
  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;

  // An input of the model: a tensor as a leaf of the graph, where its dtype has gradients.
  Tensor input(const Tensor& tensor);
  template <class T> const T& input(const T& other) { return other; }

  // The outputs of the model.
  void output(const Tensor& tensor);
  void output(const std::vector<Tensor>& tensors) {
    for (const Tensor& t : tensors) output(t);
  }
  template <class... T> void output(const std::tuple<T...>& parts) {
    std::apply([this](const T&... part) { (output(part), ...); }, parts);
  }

  // The bytes of a GraphDef (github.com/tensorflow/tensorflow, graph.proto).
  std::string graph() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cresset::train
