// Parts of Python's torch.utils.data that LibTorch lacks.

#include "cresset/data/more.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "cresset/cresset.h"
#include "cresset/nn/module/serialize.h"
#include "tests/error_of.h"

namespace {

using namespace cresset;
namespace datasets = data::datasets;

struct Numbers : datasets::Dataset<Numbers, int> {
  Numbers(int first, size_t count) : first(first), count(count) {}
  int get(size_t index) override { return first + static_cast<int>(index); }
  std::optional<size_t> size() const override { return count; }
  int first;
  size_t count;
};

// A stream of `count` numbers.
struct Stream : datasets::StatefulDataset<Stream, std::vector<int>> {
  Stream(int first, int count, bool knows_size = true) : first(first), count(count), knows_size(knows_size) {}
  void reset() override { at = 0; }
  std::optional<std::vector<int>> get_batch(size_t n) override {
    std::vector<int> batch;
    while (batch.size() < n && at < count) batch.push_back(first + at++);
    return batch.empty() ? std::nullopt : std::optional(batch);
  }
  std::optional<size_t> size() const override { return knows_size ? std::optional<size_t>(count) : std::nullopt; }
  void save(serialize::OutputArchive& archive) const override { archive.write("at", static_cast<int64_t>(at)); }
  void load(serialize::InputArchive& archive) override {
    serialize::ArchiveValue value;
    archive.read("at", value);
    at = static_cast<int>(value.to_int());
  }
  int first, count, at = 0;
  bool knows_size;
};

TEST(StackDataset, GivesTuplesOfExamples) {
  const auto numbers = std::make_shared<Numbers>(5, 2);
  const auto tensors = std::make_shared<datasets::TensorDataset>(arange(4).reshape({2, 2}));
  datasets::StackDataset<Numbers, datasets::TensorDataset> both(numbers, tensors);
  EXPECT_EQ(both.size(), 2u);
  const auto [number, row] = both.get(1);
  EXPECT_EQ(number, 6);
  EXPECT_TRUE(equal(row.data, tensor({int64_t{2}, int64_t{3}})));
  EXPECT_EQ(std::get<0>(both.get_batch({1, 0})[0]), 6);
  using Two = datasets::StackDataset<Numbers, Numbers>;
  EXPECT_THROW(Two(numbers, std::make_shared<Numbers>(0, 3)), ValueError);
}

TEST(ChainDataset, ReadsStreamsOneAfterTheOther) {
  datasets::ChainDataset<Stream> chain({std::make_shared<Stream>(0, 3), std::make_shared<Stream>(9, 0), std::make_shared<Stream>(10, 2)});
  EXPECT_EQ(chain.size(), 5u);
  EXPECT_FALSE(datasets::ChainDataset<Stream>({std::make_shared<Stream>(0, 3, false)}).size());
  for (int epoch = 0; epoch < 2; epoch++) {
    std::vector<std::vector<int>> batches;
    const auto loader = data::make_data_loader(chain, data::DataLoaderOptions(2));
    for (auto& batch : *loader) batches.push_back(batch);
    EXPECT_EQ(batches, (std::vector<std::vector<int>>{{0, 1}, {2, 10}, {11}}));
  }
}

TEST(ChainDataset, WorkersShareIt) {
  datasets::ChainDataset<Stream> chain({std::make_shared<Stream>(0, 30), std::make_shared<Stream>(30, 30)});
  std::multiset<int> seen, expected;
  for (int i = 0; i < 60; i++) expected.insert(i);
  const auto loader = data::make_data_loader(chain, data::DataLoaderOptions(4).workers(3));
  for (auto& batch : *loader) seen.insert(batch.begin(), batch.end());
  EXPECT_EQ(seen, expected);
}

TEST(ChainDataset, GoesOnWhereItWasSaved) {
  const auto made = [] { return datasets::ChainDataset<Stream>({std::make_shared<Stream>(0, 3), std::make_shared<Stream>(10, 2)}); };
  auto first = made(), second = made();
  first.get_batch(4);
  std::stringstream file;
  serialize::OutputArchive out;
  first.save(out);
  out.save_to(file);
  serialize::InputArchive in;
  in.load_from(file);
  second.load(in);
  EXPECT_EQ(second.get_batch(4), (std::vector<int>{11}));
  EXPECT_FALSE(second.get_batch(4));
}

struct WhoAmI : datasets::Dataset<WhoAmI, data::WorkerInfo> {
  data::WorkerInfo get(size_t) override { return data::get_worker_info() ? *data::get_worker_info() : data::WorkerInfo{99, 0}; }
  std::optional<size_t> size() const override { return 8; }
};

TEST(WorkerInfo, IsThereInWorkersAlone) {
  EXPECT_EQ(data::get_worker_info(), nullptr);
  std::set<size_t> ids;
  const auto loader = data::make_data_loader(WhoAmI(), data::DataLoaderOptions(1).workers(2));
  for (auto& batch : *loader) {
    ids.insert(batch[0].id);
    EXPECT_EQ(batch[0].num_workers, 2u);
  }
  EXPECT_LT(*ids.rbegin(), 2u);
  const auto alone = data::make_data_loader(WhoAmI(), data::DataLoaderOptions(1));
  for (auto& batch : *alone) EXPECT_EQ(batch[0].id, 99u);
  std::thread([] { EXPECT_EQ(data::get_worker_info(), nullptr); }).join();
}

TEST(DefaultConvert, MakesTensorsOfArraysOfNumbers) {
  using data::transforms::default_convert;
  EXPECT_EQ(default_convert(3), 3);
  EXPECT_EQ(default_convert(std::string("text")), "text");
  const Tensor t = ones({2});
  EXPECT_TRUE(default_convert(t).is_same(t));
  EXPECT_TRUE(equal(default_convert(std::vector<double>{1, 2}), tensor({1.0, 2.0})));
  EXPECT_EQ(default_convert(std::array<int64_t, 2>{1, 2}).scalar_type(), kLong);
  const auto [rows, name] = default_convert(std::make_pair(std::vector<std::vector<float>>{{1}, {2}}, std::string("n")));
  EXPECT_TRUE(equal(rows.at(1), tensor({2.0f})));
  EXPECT_EQ(name, "n");
  const auto named = default_convert(std::map<std::string, std::tuple<std::vector<int>, int>>{{"a", {{4}, 5}}});
  EXPECT_EQ(std::get<0>(named.at("a")).item<int>(), 4);
  EXPECT_EQ(std::get<1>(named.at("a")), 5);
  const data::Example<Tensor, int> converted = default_convert(data::Example<std::vector<double>, int>({1.0}, 7));
  EXPECT_EQ(converted.target, 7);
}

}  // namespace
