#pragma once
// The part of Python's torch.utils.data that LibTorch lacks: parts, sums and tuples of datasets, samplers of a subset and by weight.
// Include it by name: <cresset/data/more.h>.

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/data/data.h"
#include "cresset/data/datasets/shared.h"
#include "cresset/data/datasets/stateful.h"

namespace cresset::data {

namespace transforms {

// The item with arrays of numbers in it as tensors: in examples, tuples, pairs, maps and vectors. Everything else stays as it is.
template <class T> const T& default_convert(const T& item) { return item; }
template <class T> auto default_convert(const std::vector<T>& item);
template <class T, size_t N> auto default_convert(const std::array<T, N>& item) { return default_convert(std::vector<T>(item.begin(), item.end())); }
template <class K, class V> auto default_convert(const std::map<K, V>& item);
template <class... T> auto default_convert(const std::tuple<T...>& item);
template <class A, class B> auto default_convert(const std::pair<A, B>& item);
template <class Data, class Target> auto default_convert(const Example<Data, Target>& item);
inline const TensorExample& default_convert(const TensorExample& item) { return item; }

template <class T> auto default_convert(const std::vector<T>& item) {
  if constexpr (std::is_arithmetic_v<T>) {
    return tensor(item);
  } else {
    std::vector<std::decay_t<decltype(default_convert(item[0]))>> converted;
    for (const T& element : item) converted.push_back(default_convert(element));
    return converted;
  }
}
template <class K, class V> auto default_convert(const std::map<K, V>& item) {
  std::map<K, std::decay_t<decltype(default_convert(item.begin()->second))>> converted;
  for (const auto& [key, value] : item) converted.emplace(key, default_convert(value));
  return converted;
}
template <class... T> auto default_convert(const std::tuple<T...>& item) {
  return std::apply([](const T&... elements) { return std::make_tuple(default_convert(elements)...); }, item);
}
template <class A, class B> auto default_convert(const std::pair<A, B>& item) {
  return std::make_pair(default_convert(item.first), default_convert(item.second));
}
template <class Data, class Target> auto default_convert(const Example<Data, Target>& item) {
  return Example<std::decay_t<decltype(default_convert(item.data))>, std::decay_t<decltype(default_convert(item.target))>>(default_convert(item.data),
                                                                                                                           default_convert(item.target));
}

}  // namespace transforms

namespace datasets {

// The examples of a dataset at some of its places. Copies share the dataset.
template <class Underlying> class Subset : public Dataset<Subset<Underlying>, typename Underlying::ExampleType> {
 public:
  Subset(std::shared_ptr<Underlying> dataset, std::vector<size_t> indices) : dataset_(std::move(dataset)), indices_(std::move(indices)) {}
  typename Underlying::ExampleType get(size_t index) override { return dataset_->get(indices_.at(index)); }
  std::optional<size_t> size() const override { return indices_.size(); }
  const std::vector<size_t>& indices() const { return indices_; }

 private:
  std::shared_ptr<Underlying> dataset_;
  std::vector<size_t> indices_;
};

// Datasets one after the other. Errors: none at all, or one that does not know its size.
template <class Underlying> class ConcatDataset : public Dataset<ConcatDataset<Underlying>, typename Underlying::ExampleType> {
 public:
  explicit ConcatDataset(std::vector<std::shared_ptr<Underlying>> datasets) : datasets_(std::move(datasets)) {
    CRESSET_CHECK_VALUE(!datasets_.empty(), "ConcatDataset: datasets must not be empty");
    for (const auto& dataset : datasets_) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + dataset->size().value());
  }
  typename Underlying::ExampleType get(size_t index) override {
    size_t which = 0;
    while (which < ends_.size() && index >= ends_[which]) which++;
    CRESSET_CHECK_INDEX(which < ends_.size(), "ConcatDataset: index ", index, " is out of range for ", ends_.back(), " examples");
    return datasets_[which]->get(index - (which ? ends_[which - 1] : 0));
  }
  std::optional<size_t> size() const override { return ends_.back(); }

 private:
  std::vector<std::shared_ptr<Underlying>> datasets_;
  std::vector<size_t> ends_;
};

// Datasets of one length side by side: examples are tuples of theirs. Errors: lengths that differ or are not known.
template <class... Datasets> class StackDataset : public Dataset<StackDataset<Datasets...>, std::tuple<typename Datasets::ExampleType...>> {
 public:
  explicit StackDataset(std::shared_ptr<Datasets>... datasets) : datasets_(std::move(datasets)...) {
    static_assert(sizeof...(Datasets) > 0, "StackDataset: at least one dataset should be passed");
    const std::vector<std::optional<size_t>> sizes = std::apply([](const auto&... d) { return std::vector{d->size()...}; }, datasets_);
    for (const auto& size : sizes)
      CRESSET_CHECK_VALUE(size && size == sizes[0], "StackDataset: size mismatch between datasets, got ", size.value_or(0), " and ", sizes[0].value_or(0));
    size_ = *sizes[0];
  }
  std::tuple<typename Datasets::ExampleType...> get(size_t index) override {
    return std::apply([&](const auto&... d) { return std::tuple<typename Datasets::ExampleType...>{d->get(index)...}; }, datasets_);
  }
  std::optional<size_t> size() const override { return size_; }

 private:
  std::tuple<std::shared_ptr<Datasets>...> datasets_;
  size_t size_ = 0;
};

// Stateful datasets one after the other; a batch may end one and begin the next. Copies share the datasets and the place in them.
template <class Underlying> class ChainDataset : public StatefulDataset<ChainDataset<Underlying>, typename Underlying::BatchType::value_type> {
 public:
  using Batch = typename Underlying::BatchType::value_type;

  explicit ChainDataset(std::vector<std::shared_ptr<Underlying>> datasets) : datasets_(std::move(datasets)), place_(std::make_shared<Place>()) {}
  void reset() override {
    const std::lock_guard<std::mutex> lock(place_->mutex);
    for (const auto& dataset : datasets_) dataset->reset();
    place_->which = 0;
  }
  std::optional<Batch> get_batch(size_t count) override {
    const std::lock_guard<std::mutex> lock(place_->mutex);
    Batch batch;
    while (batch.size() < count && place_->which < datasets_.size()) {
      std::optional<Batch> next = datasets_[place_->which]->get_batch(count - batch.size());
      if (!next || next->empty()) place_->which++;
      else batch.insert(batch.end(), std::make_move_iterator(next->begin()), std::make_move_iterator(next->end()));
    }
    return batch.empty() ? std::nullopt : std::optional<Batch>(std::move(batch));
  }
  // Nothing where one of them does not know its own.
  std::optional<size_t> size() const override {
    size_t sum = 0;
    for (const auto& dataset : datasets_) {
      const std::optional<size_t> size = dataset->size();
      if (!size) return std::nullopt;
      sum += *size;
    }
    return sum;
  }
  void save(serialize::OutputArchive& archive) const override {
    archive.write("which", static_cast<int64_t>(place_->which));
    for (size_t i = 0; i < datasets_.size(); i++) {
      serialize::OutputArchive nested;
      datasets_[i]->save(nested);
      archive.write(std::to_string(i), nested);
    }
  }
  void load(serialize::InputArchive& archive) override {
    serialize::ArchiveValue which;
    archive.read("which", which);
    for (size_t i = 0; i < datasets_.size(); i++) {
      serialize::InputArchive nested;
      archive.read(std::to_string(i), nested);
      datasets_[i]->load(nested);
    }
    place_->which = static_cast<size_t>(which.to_int());
  }

 private:
  struct Place {
    std::mutex mutex;
    size_t which = 0;
  };
  std::vector<std::shared_ptr<Underlying>> datasets_;
  std::shared_ptr<Place> place_;
};

// Parts of these lengths, drawn as randperm. Errors: lengths that do not add up to the dataset's.
template <class Underlying> std::vector<Subset<Underlying>> random_split(std::shared_ptr<Underlying> dataset, const std::vector<size_t>& lengths) {
  size_t sum = 0, at = 0;
  for (size_t length : lengths) sum += length;
  CRESSET_CHECK_VALUE(sum == dataset->size().value(), "random_split: lengths must add up to ", dataset->size().value(), ", got ", sum);
  const Tensor order = randperm(static_cast<int64_t>(sum));
  const int64_t* p = order.data_ptr<int64_t>();
  std::vector<Subset<Underlying>> parts;
  for (size_t length : lengths) {
    parts.emplace_back(dataset, std::vector<size_t>(p + at, p + at + length));
    at += length;
  }
  return parts;
}

}  // namespace datasets

namespace samplers {

// Samplers that draw a whole epoch when it begins.
class DrawnSampler : public Sampler<> {
 public:
  void reset(std::optional<size_t> = std::nullopt) override {
    order_ = draw();
    index_ = 0;
  }
  std::optional<std::vector<size_t>> next(size_t batch_size) override {
    const size_t count = std::min(batch_size, order_.size() - index_);
    if (count == 0) return std::nullopt;
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(index_);
    index_ += count;
    return std::vector<size_t>(first, first + static_cast<std::ptrdiff_t>(count));
  }
  void save(serialize::OutputArchive& archive) const override {
    archive.write("index", static_cast<int64_t>(index_));
    archive.write("order", std::vector<int64_t>(order_.begin(), order_.end()));
  }
  void load(serialize::InputArchive& archive) override {
    serialize::ArchiveValue index, order;
    archive.read("index", index);
    archive.read("order", order);
    const auto list = order.to_int_list();
    order_.assign(list.begin(), list.end());
    index_ = static_cast<size_t>(index.to_int());
  }

 protected:
  virtual std::vector<size_t> draw() = 0;
  static std::vector<size_t> as_indices(const Tensor& drawn) {
    const int64_t* p = drawn.data_ptr<int64_t>();
    return std::vector<size_t>(p, p + drawn.numel());
  }

 private:
  std::vector<size_t> order_;
  size_t index_ = 0;
};

// Some indices, in a random order.
class SubsetRandomSampler : public DrawnSampler {
 public:
  explicit SubsetRandomSampler(std::vector<size_t> indices) : indices_(std::move(indices)) { reset(); }

 protected:
  std::vector<size_t> draw() override {
    std::vector<size_t> order = as_indices(randperm(static_cast<int64_t>(indices_.size())));
    for (size_t& i : order) i = indices_[i];
    return order;
  }

 private:
  std::vector<size_t> indices_;
};

// num_samples indices, each as often as its weight says.
class WeightedRandomSampler : public DrawnSampler {
 public:
  WeightedRandomSampler(const std::vector<double>& weights, int64_t num_samples, bool replacement = true)
      : weights_(tensor(weights)), num_samples_(num_samples), replacement_(replacement) {
    CRESSET_CHECK_VALUE(num_samples > 0, "WeightedRandomSampler: num_samples must be positive, got ", num_samples);
    reset();
  }

 protected:
  std::vector<size_t> draw() override { return as_indices(multinomial(weights_, num_samples_, replacement_)); }

 private:
  Tensor weights_;
  int64_t num_samples_;
  bool replacement_;
};

}  // namespace samplers
}  // namespace cresset::data
