#pragma once
// BatchDataset: gives a batch for a request. Dataset: gives one example by number.

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/base/array_ref.h"
#include "cresset/data/example.h"

namespace cresset::data::datasets {

template <class Source, class Transform> class MapDataset;
template <class Source, class Transform> MapDataset<Source, Transform> map(Source dataset, Transform transform);

namespace detail {
template <class T> struct is_optional : std::false_type {};
template <class T> struct is_optional<std::optional<T>> : std::true_type {};
}  // namespace detail

template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = ArrayRef<size_t>> class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  // Stateful datasets say when they are exhausted by an empty optional.
  static constexpr bool is_stateful = detail::is_optional<BatchType>::value;

  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  virtual std::optional<size_t> size() const = 0;

  // This dataset, its batches passed through the transform.
  template <class Transform> MapDataset<Self, Transform> map(Transform transform) & { return datasets::map(static_cast<Self&>(*this), std::move(transform)); }
  template <class Transform> MapDataset<Self, Transform> map(Transform transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

template <class Self, class SingleExample = Example<>> class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  virtual ExampleType get(size_t index) = 0;
  std::vector<ExampleType> get_batch(ArrayRef<size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

// Asked for a number of examples, gives the next ones.
template <class Self, class Batch = std::vector<Example<>>> using StreamDataset = BatchDataset<Self, Batch, size_t>;

}  // namespace cresset::data::datasets
