#pragma once
// One sample of a dataset: data with its target, or data alone.

#include <utility>

#include "cresset/tensor.h"

namespace cresset::data {

namespace example {
struct NoTarget {};
}  // namespace example

template <class Data = Tensor, class Target = Tensor> struct Example {
  using DataType = Data;
  using TargetType = Target;
  Example() = default;
  Example(Data d, Target t) : data(std::move(d)), target(std::move(t)) {}

  Data data;
  Target target;
};

template <class Data> struct Example<Data, example::NoTarget> {
  using DataType = Data;
  using TargetType = example::NoTarget;
  Example() = default;
  Example(Data d) : data(std::move(d)) {}
  // An example without target may stand for its data.
  operator Data&() { return data; }
  operator const Data&() const { return data; }

  Data data;
};

using TensorExample = Example<Tensor, example::NoTarget>;

}  // namespace cresset::data
