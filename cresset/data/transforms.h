#pragma once
// Transforms of batches and of single examples.

#include <utility>
#include <vector>
#include "cresset/base/std_function.h"

#include "cresset/data/example.h"

namespace cresset::data::transforms {

template <class InputBatch, class OutputBatch> class BatchTransform {
 public:
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  virtual ~BatchTransform() = default;
  virtual OutputBatch apply_batch(InputBatch input_batch) = 0;
};

template <class Input, class Output> class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  using InputType = Input;
  using OutputType = Output;
  virtual OutputType apply(InputType input) = 0;
  std::vector<Output> apply_batch(std::vector<Input> input_batch) override {
    std::vector<Output> output;
    output.reserve(input_batch.size());
    for (auto& input : input_batch) output.push_back(apply(std::move(input)));
    return output;
  }
};

template <class Input, class Output = Input> class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using InputBatchType = Input;
  using OutputBatchType = Output;
  using FunctionType = std::function<OutputBatchType(InputBatchType)>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  OutputBatchType apply_batch(InputBatchType input_batch) override { return function_(std::move(input_batch)); }

 private:
  FunctionType function_;
};

template <class Input, class Output = Input> class Lambda : public Transform<Input, Output> {
 public:
  using InputType = Input;
  using OutputType = Output;
  using FunctionType = std::function<Output(Input)>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  OutputType apply(InputType input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

// Many examples to one batch.
template <class T, class BatchType = std::vector<T>> using Collation = BatchTransform<BatchType, T>;
template <class T, class BatchType = std::vector<T>> using Collate = BatchLambda<BatchType, T>;

// Changes the data of each example.
template <class Target = Tensor> class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  using E = Example<Tensor, Target>;
  using typename Transform<E, E>::InputType;
  using typename Transform<E, E>::OutputType;
  virtual Tensor operator()(Tensor input) = 0;
  OutputType apply(InputType input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

template <class Target = Tensor> class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = std::function<Tensor(Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

namespace detail {
// One number per channel as (C, 1, 1).
CRESSET_API Tensor per_channel(ArrayRef<double> values);
CRESSET_API Tensor normalize(const Tensor& input, const Tensor& mean, const Tensor& stddev);
CRESSET_API Tensor stack(const std::vector<Tensor>& tensors);
}  // namespace detail

// (input - mean) / stddev, channel by channel.
template <class Target = Tensor> struct Normalize : public TensorTransform<Target> {
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev) : mean(detail::per_channel(mean)), stddev(detail::per_channel(stddev)) {}
  Tensor operator()(Tensor input) override { return detail::normalize(input, mean, stddev); }

  Tensor mean, stddev;
};

// Stacks tensors of many examples along a new first dimension.
template <class T = Example<>> struct Stack;

template <> struct Stack<Example<>> : public Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override {
    std::vector<Tensor> data, targets;
    data.reserve(examples.size());
    targets.reserve(examples.size());
    for (auto& example : examples) {
      data.push_back(std::move(example.data));
      targets.push_back(std::move(example.target));
    }
    return {detail::stack(data), detail::stack(targets)};
  }
};

template <> struct Stack<TensorExample> : public Collation<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override {
    std::vector<Tensor> data;
    data.reserve(examples.size());
    for (auto& example : examples) data.push_back(std::move(example.data));
    return detail::stack(data);
  }
};

}  // namespace cresset::data::transforms
