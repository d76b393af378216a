#pragma once
// A dataset that decides itself what comes next, and when it is over: it returns an empty batch then, until reset.

#include "cresset/data/datasets/base.h"
#include "cresset/nn/module/archive.h"

namespace cresset::data::datasets {

template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t> class StatefulDataset
    : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  virtual void reset() = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};

template <class Self, class... Args> serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const StatefulDataset<Self, Args...>& dataset) {
  dataset.save(archive);
  return archive;
}
template <class Self, class... Args> serialize::InputArchive& operator>>(serialize::InputArchive& archive, StatefulDataset<Self, Args...>& dataset) {
  dataset.load(archive);
  return archive;
}

}  // namespace cresset::data::datasets
