#pragma once
// A dataset whose batches pass through a transform.

#include "cresset/data/datasets/base.h"

namespace cresset::data::datasets {

namespace detail {
template <bool C, class T> using optional_if_t = std::conditional_t<C, std::optional<T>, T>;
}  // namespace detail

template <class Source, class Transform> class MapDataset
    : public BatchDataset<MapDataset<Source, Transform>, detail::optional_if_t<Source::is_stateful, typename Transform::OutputBatchType>,
                          typename Source::BatchRequestType> {
 public:
  using DatasetType = Source;
  using TransformType = Transform;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType = detail::optional_if_t<Source::is_stateful, typename Transform::OutputBatchType>;

  MapDataset(DatasetType dataset, TransformType transform) : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (Source::is_stateful) {
      auto batch = dataset_.get_batch(std::move(request));
      if (!batch) return std::nullopt;
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }
  std::optional<size_t> size() const noexcept override { return dataset_.size(); }
  // Only of a stateful dataset.
  void reset() { dataset_.reset(); }
  const Source& dataset() noexcept { return dataset_; }
  const Transform& transform() noexcept { return transform_; }

 private:
  Source dataset_;
  Transform transform_;
};

template <class Source, class Transform> MapDataset<Source, Transform> map(Source dataset, Transform transform) {
  static_assert(std::is_same<std::conditional_t<Source::is_stateful, typename Source::BatchType, std::optional<typename Source::BatchType>>,
                             std::optional<typename Transform::InputBatchType>>::value,
                "the batches of the dataset are not what the transform takes");
  return {std::move(dataset), std::move(transform)};
}

}  // namespace cresset::data::datasets
