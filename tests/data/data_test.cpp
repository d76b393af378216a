// Datasets, transforms, samplers and loaders.

#include <gtest/gtest.h>
#include <zlib.h>

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cresset/cresset.h"
#include "cresset/data/datasets/chunk.h"
#include "cresset/data/datasets/shared.h"
#include "cresset/data/datasets/stateful.h"

namespace {

using namespace cresset;
using namespace cresset::data;

template <class F> std::string message_of(F f) {
  try {
    f();
  } catch (const std::exception& e) { return e.what(); }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/cresset_data_test_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() {
    for (const auto& file : files_) std::remove(file.c_str());
    rmdir(path_.c_str());
  }
  std::string add(const std::string& name, const std::string& bytes) {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    files_.insert(path);
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::set<std::string> files_;
};

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string big_endian(uint32_t v) { return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)}; }
std::string mnist_images(uint32_t count = 10000, uint32_t magic = 2051) {
  std::string bytes = big_endian(magic) + big_endian(count) + big_endian(28) + big_endian(28);
  bytes.resize(16 + size_t{10000} * 784);
  for (size_t i = 16; i < bytes.size(); i++) bytes[i] = static_cast<char>((i * 7) % 256);
  return bytes;
}
std::string mnist_labels() {
  std::string bytes = big_endian(2049) + big_endian(10000);
  for (int i = 0; i < 10000; i++) bytes.push_back(static_cast<char>(i % 10));
  return bytes;
}

TEST(Mnist, ReadsPlainAndGzippedFiles) {
  Folder folder;
  folder.add("t10k-images-idx3-ubyte.gz", gzip(mnist_images()));
  folder.add("t10k-labels-idx1-ubyte", mnist_labels());
  datasets::MNIST set(folder.path(), datasets::MNIST::Mode::kTest);
  EXPECT_EQ(set.size(), 10000u);
  EXPECT_FALSE(set.is_train());
  const Example<> example = set.get(3);
  EXPECT_EQ(example.data.sizes(), (std::vector<int64_t>{1, 28, 28}));
  EXPECT_EQ(example.target.item<int64_t>(), 3);
  const size_t first = 16 + 3 * 784;
  EXPECT_EQ(example.data.flatten()[5].item<float>(), static_cast<float>(((first + 5) * 7) % 256) / 255.0f);
}

TEST(Mnist, NamesTheFileThatIsWrong) {
  using Mode = datasets::MNIST::Mode;
  Folder folder;
  auto message = [&] { return message_of([&] { datasets::MNIST(folder.path(), Mode::kTest); }); };
  EXPECT_TRUE(contains(message(), "no file '" + folder.path() + "/t10k-images-idx3-ubyte'")) << message();
  folder.add("t10k-labels-idx1-ubyte", mnist_labels());
  const std::string packed = gzip(mnist_images());
  const std::string images = folder.add("t10k-images-idx3-ubyte.gz", packed.substr(0, packed.size() / 2));
  EXPECT_TRUE(contains(message(), images + "' is damaged or truncated")) << message();
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
  folder.add("t10k-images-idx3-ubyte.gz", damaged);
  EXPECT_TRUE(contains(message(), "t10k-images-idx3-ubyte.gz'")) << message();
  const std::string plain = folder.add("t10k-images-idx3-ubyte", mnist_images(10000, 2049));
  EXPECT_TRUE(contains(message(), plain + "' has magic number 2049, expected 2051")) << message();
  folder.add("t10k-images-idx3-ubyte", mnist_images(9999));
  EXPECT_TRUE(contains(message(), "has size 9999 in dimension 0, expected 10000")) << message();
  folder.add("t10k-images-idx3-ubyte", mnist_images().substr(0, 5000));
  EXPECT_TRUE(contains(message(), "is truncated or too long, got 5000 bytes")) << message();
  folder.add("t10k-images-idx3-ubyte", "short");
  EXPECT_TRUE(contains(message(), "is truncated, got 5 bytes")) << message();
  folder.add("t10k-images-idx3-ubyte", mnist_images());
  std::string labels = mnist_labels();
  labels[8 + 77] = 10;
  folder.add("t10k-labels-idx1-ubyte", labels);
  EXPECT_TRUE(contains(message(), "has label 10 at position 77")) << message();
}

std::string cifar_record(char label, char first) {
  std::string record(3073, 0);
  record[0] = label;
  record[1] = first;
  return record;
}

TEST(Cifar10, ReadsRecords) {
  Folder folder;
  folder.add("test_batch.bin.gz", gzip(cifar_record(3, 100) + cifar_record(9, 50)));
  datasets::CIFAR10 set(folder.path(), datasets::CIFAR10::Mode::kTest);
  EXPECT_EQ(set.size(), 2u);
  EXPECT_EQ(set.get(1).target.item<int64_t>(), 9);
  EXPECT_EQ(set.get(1).data.sizes(), (std::vector<int64_t>{3, 32, 32}));
  EXPECT_EQ(set.get(1).data.flatten()[0].item<float>(), 50.0f / 255.0f);
}

TEST(Cifar10, NamesTheFileThatIsWrong) {
  Folder folder;
  const std::string path = folder.add("test_batch.bin", cifar_record(3, 0).substr(0, 3000));
  auto message = [&] { return message_of([&] { datasets::CIFAR10(folder.path(), datasets::CIFAR10::Mode::kTest); }); };
  EXPECT_TRUE(contains(message(), path + "' is truncated, got 3000 bytes")) << message();
  folder.add("test_batch.bin", cifar_record(12, 0));
  EXPECT_TRUE(contains(message(), path + "' has label 12")) << message();
  EXPECT_TRUE(contains(message_of([&] { datasets::CIFAR10 set(folder.path()); }), "data_batch_1.bin")) << message();
}

// Its examples are their numbers; may draw a random number, throw, or be slow.
struct Numbers : datasets::Dataset<Numbers, TensorExample> {
  explicit Numbers(size_t n) : count(n) {}
  TensorExample get(size_t index) override {
    if (index == bad) throw cresset::ValueError("the example is bad");
    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(index % 3 == 0 ? 4 : 1));
    Tensor t = cresset::full({1}, static_cast<double>(index));
    if (random) t = t + cresset::rand({1}) * 0.5;
    return t;
  }
  std::optional<size_t> size() const override { return count; }
  size_t count, bad = SIZE_MAX;
  bool random = false, slow = false;
};
using Stack = transforms::Stack<TensorExample>;

std::vector<float> values_of(const Tensor& t) { return std::vector<float>(t.data_ptr<float>(), t.data_ptr<float>() + t.numel()); }

template <class Loader> std::vector<float> epoch(Loader& loader) {
  std::vector<float> all;
  for (auto& batch : loader)
    for (float v : values_of(batch.data)) all.push_back(v);
  return all;
}

TEST(TensorDataset, GivesRows) {
  datasets::TensorDataset set(cresset::arange(6, kFloat).view({3, 2}));
  EXPECT_EQ(set.size(), 3u);
  EXPECT_TRUE(equal(set.get(1).data, cresset::tensor(std::vector<float>{2, 3})));
  EXPECT_EQ(datasets::TensorDataset({cresset::ones({2}), cresset::zeros({2})}).size(), 2u);
}

TEST(Transforms, NormalizeByChannel) {
  transforms::Normalize<> normalize({0.5, 1.0}, {2.0, 4.0});
  const Tensor out = normalize(cresset::ones({2, 1, 2}));
  EXPECT_EQ(values_of(out), (std::vector<float>{0.25, 0.25, 0, 0}));
}

TEST(Transforms, ComposeThroughMap) {
  auto set = Numbers(4)
                 .map(transforms::Lambda<TensorExample>([](TensorExample e) { return TensorExample(e.data * 2); }))
                 .map(transforms::TensorLambda<example::NoTarget>([](Tensor t) { return t + 1; }))
                 .map(Stack());
  const std::vector<size_t> wanted = {3, 0};
  EXPECT_EQ(values_of(set.get_batch(wanted).data), (std::vector<float>{7, 1}));
  EXPECT_EQ(set.size(), 4u);
}

TEST(Transforms, CollateMakesAnyBatch) {
  auto set = Numbers(3).map(transforms::Collate<int, std::vector<TensorExample>>([](std::vector<TensorExample> e) { return static_cast<int>(e.size()); }));
  const std::vector<size_t> wanted = {0, 1, 2};
  EXPECT_EQ(set.get_batch(wanted), 3);
}

TEST(Transforms, StackKeepsTargets) {
  struct Pairs : datasets::Dataset<Pairs> {
    Example<> get(size_t i) override { return {cresset::full({2}, static_cast<double>(i)), cresset::full({}, static_cast<int64_t>(i), kLong)}; }
    std::optional<size_t> size() const override { return 3; }
  };
  auto set = Pairs().map(transforms::Stack<>());
  const std::vector<size_t> wanted = {2, 1};
  const Example<> batch = set.get_batch(wanted);
  EXPECT_EQ(batch.data.sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(batch.target[0].item<int64_t>(), 2);
}

template <class Sampler> std::vector<std::vector<size_t>> all_of(Sampler& sampler, size_t batch_size) {
  std::vector<std::vector<size_t>> all;
  while (auto batch = sampler.next(batch_size)) all.push_back(*batch);
  return all;
}
using Batches = std::vector<std::vector<size_t>>;

TEST(Samplers, Sequential) {
  samplers::SequentialSampler sampler(5);
  EXPECT_EQ(all_of(sampler, 2), (Batches{{0, 1}, {2, 3}, {4}}));
  sampler.reset(2);
  EXPECT_EQ(all_of(sampler, 5), (Batches{{0, 1}}));
}

// These orders are LibTorch 2.13's.
TEST(Samplers, RandomHasTheNumbersOfLibTorch) {
  manual_seed(0);
  samplers::RandomSampler sampler(10);
  EXPECT_EQ(all_of(sampler, 4), (Batches{{4, 1, 7, 5}, {3, 9, 0, 8}, {6, 2}}));
  sampler.reset();
  EXPECT_EQ(all_of(sampler, 4), (Batches{{3, 9, 4, 2}, {7, 8, 6, 0}, {5, 1}}));
  sampler.reset(6);
  EXPECT_EQ(all_of(sampler, 4), (Batches{{2, 4, 1, 5}, {3, 0}}));
}

TEST(Samplers, DistributedRandomHasTheNumbersOfLibTorch) {
  const Batches first = {{0, 2, 1, 5}, {9, 1, 4, 7}, {6, 0, 3, 8}}, second = {{9, 0, 2, 5}, {1, 4, 6, 3}, {1, 8, 0, 7}};
  const Batches unique = {{2, 4, 6}, {0, 5, 1}, {8, 3, 7}};
  for (size_t rank = 0; rank < 3; rank++) {
    samplers::DistributedRandomSampler sampler(10, 3, rank);
    EXPECT_EQ(all_of(sampler, 4), Batches{first[rank]});
    sampler.set_epoch(1);
    sampler.reset();
    EXPECT_EQ(all_of(sampler, 4), Batches{second[rank]});
    samplers::DistributedRandomSampler other(10, 3, rank, false);
    EXPECT_EQ(all_of(other, 4), Batches{unique[rank]});
  }
}

TEST(Samplers, DistributedSequential) {
  const Batches shares = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 0, 1}}, after_reset = {{0, 1, 2}, {3, 4, 5}, {6, 0, 1}};
  for (size_t rank = 0; rank < 3; rank++) {
    samplers::DistributedSequentialSampler sampler(10, 3, rank);
    EXPECT_EQ(all_of(sampler, 4), Batches{shares[rank]});
    sampler.reset(7);
    EXPECT_EQ(all_of(sampler, 4), Batches{after_reset[rank]});
  }
  EXPECT_THROW(samplers::DistributedSequentialSampler(10, 3, 3), cresset::ValueError);
}

TEST(Samplers, StreamCountsDown) {
  samplers::StreamSampler sampler(10);
  EXPECT_EQ(sampler.next(4)->size(), 4u);
  EXPECT_EQ(sampler.next(4)->size(), 4u);
  EXPECT_EQ(sampler.next(4)->size(), 2u);
  EXPECT_FALSE(sampler.next(4));
}

TEST(Samplers, ResumeFromAnArchive) {
  manual_seed(5);
  samplers::RandomSampler sampler(7), resumed(7);
  sampler.next(3);
  std::stringstream file;
  save(sampler, file);
  load(resumed, file);
  EXPECT_EQ(all_of(resumed, 2), all_of(sampler, 2));
}

TEST(DataLoader, VisitsEveryExampleOnce) {
  auto loader = make_data_loader(Numbers(23).map(Stack()), DataLoaderOptions().batch_size(4).workers(2));
  std::vector<float> seen = epoch(*loader);
  std::sort(seen.begin(), seen.end());
  for (size_t i = 0; i < 23; i++) EXPECT_EQ(seen.at(i), static_cast<float>(i));
}

TEST(DataLoader, ShufflesAsLibTorch) {
  const std::vector<float> first = {5, 6, 11, 12, 7, 2, 3, 9, 4, 10, 8, 0, 1}, second = {10, 3, 12, 7, 8, 1, 0, 4, 2, 6, 9, 11, 5};
  for (size_t workers : {0, 1, 3}) {
    manual_seed(3);
    auto loader = make_data_loader(Numbers(13).map(Stack()), DataLoaderOptions().batch_size(4).workers(workers));
    EXPECT_EQ(epoch(*loader), first) << workers;
    EXPECT_EQ(epoch(*loader), second) << workers;
  }
}

TEST(DataLoader, RandomExamplesDoNotDependOnTheNumberOfWorkers) {
  std::vector<std::vector<float>> epochs;
  for (size_t workers : {0, 1, 2, 4}) {
    manual_seed(11);
    Numbers numbers(40);
    numbers.random = numbers.slow = true;
    auto loader = make_data_loader(numbers.map(Stack()), DataLoaderOptions().batch_size(3).workers(workers));
    std::vector<float> all = epoch(*loader);
    const std::vector<float> more = epoch(*loader);
    EXPECT_NE(all, more);
    all.insert(all.end(), more.begin(), more.end());
    // Later draws do not depend on it either.
    all.push_back(cresset::rand({1}).item<float>());
    epochs.push_back(all);
  }
  for (const auto& other : epochs) EXPECT_EQ(other, epochs[0]);
}

TEST(DataLoader, WithoutOrderNothingIsLost) {
  Numbers numbers(30);
  numbers.slow = true;
  auto loader =
      make_data_loader<samplers::SequentialSampler>(numbers.map(Stack()), DataLoaderOptions().batch_size(2).workers(3).enforce_ordering(false).max_jobs(5));
  std::vector<float> seen = epoch(*loader);
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), 30u);
  for (size_t i = 0; i < 30; i++) EXPECT_EQ(seen[i], static_cast<float>(i));
}

TEST(DataLoader, DropsTheLastBatchIfAsked) {
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader(Numbers(10).map(Stack()), DataLoaderOptions().batch_size(4).workers(workers).drop_last(true));
    EXPECT_EQ(epoch(*loader).size(), 8u);
  }
}

TEST(DataLoader, ExceptionsOfWorkersReachTheCaller) {
  Numbers numbers(10);
  numbers.bad = 5;
  auto plain = make_data_loader<samplers::SequentialSampler>(numbers.map(Stack()), DataLoaderOptions().batch_size(2));
  EXPECT_THROW(epoch(*plain), cresset::ValueError);
  auto loader = make_data_loader<samplers::SequentialSampler>(numbers.map(Stack()), DataLoaderOptions().batch_size(2).workers(2));
  try {
    epoch(*loader);
    FAIL();
  } catch (const WorkerException& e) {
    EXPECT_TRUE(contains(e.what(), "the example is bad")) << e.what();
    EXPECT_THROW(std::rethrow_exception(e.original_exception), cresset::ValueError);
  }
  // The next epoch starts afresh, and fails at the same place.
  size_t batches = 0;
  EXPECT_THROW(
      for (auto& batch
           : *loader) {
        (void)batch;
        batches++;
      },
      WorkerException);
  EXPECT_EQ(batches, 2u);
}

TEST(DataLoader, ABrokenOffEpochDoesNotDisturbTheNext) {
  Numbers numbers(20);
  numbers.slow = true;
  auto loader = make_data_loader<samplers::SequentialSampler>(numbers.map(Stack()), DataLoaderOptions().batch_size(2).workers(3));
  for (int i = 0; i < 3; i++) {
    auto it = loader->begin();
    EXPECT_EQ(it->data[0].item<float>(), 0.0f);
    ++it;
    EXPECT_EQ(it->data[0].item<float>(), 2.0f);
  }
  EXPECT_EQ(epoch(*loader).size(), 20u);
}

TEST(DataLoader, RefusesASecondEpochBesideOneInFlight) {
  auto loader = make_data_loader(Numbers(8).map(Stack()), DataLoaderOptions().batch_size(2).workers(2));
  {
    auto first = loader->begin();
    EXPECT_THROW(loader->begin(), cresset::Error);
  }
  EXPECT_EQ(epoch(*loader).size(), 8u);
}

TEST(DataLoader, IteratorsOfTwoEpochsDifferAndFetchNothingToSaySo) {
  auto loader = make_data_loader(Numbers(10).map(Stack()), DataLoaderOptions(5));
  auto first = loader->begin(), second = loader->begin();
  EXPECT_TRUE(first != second);
  EXPECT_TRUE(second == second);
  ++second;
  EXPECT_TRUE(first != second);
  EXPECT_TRUE(second != loader->end());
  ++second;
  EXPECT_TRUE(second == loader->end() && loader->end() == second);
}

TEST(DataLoader, OldIteratorsSaySo) {
  auto loader = make_data_loader(Numbers(4).map(Stack()), 1);
  auto old = loader->begin();
  ++old;
  auto fresh = loader->begin();
  EXPECT_THROW(++old, cresset::Error);
  EXPECT_NE(fresh, loader->end());
  EXPECT_THROW(*loader->end(), cresset::Error);
}

TEST(DataLoader, ShutsDownWithJobsUnderWay) {
  Numbers numbers(1000);
  numbers.slow = true;
  auto loader = make_data_loader(numbers.map(Stack()), DataLoaderOptions().batch_size(2).workers(4));
  loader->begin();
  loader.reset();
  auto joined = make_data_loader(Numbers(4).map(Stack()), DataLoaderOptions().batch_size(2).workers(2));
  joined->join();
  EXPECT_THROW(epoch(*joined), cresset::Error);
}

TEST(DataLoader, TimesOut) {
  struct Never : datasets::Dataset<Never, TensorExample> {
    TensorExample get(size_t) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      return cresset::ones({1});
    }
    std::optional<size_t> size() const override { return 4; }
  };
  auto loader = make_data_loader(Never().map(Stack()), DataLoaderOptions().workers(1).timeout(std::chrono::milliseconds(5)));
  EXPECT_TRUE(contains(message_of([&] { epoch(*loader); }), "Timeout, no batch within 5 ms"));
}

TEST(DataLoader, RefusesWrongOptions) {
  EXPECT_THROW(make_data_loader(Numbers(4), 0), cresset::ValueError);
  EXPECT_THROW(make_data_loader(Numbers(4), DataLoaderOptions().workers(1).max_jobs(0)), cresset::ValueError);
}

TEST(DataLoader, AnEmptyDatasetHasNoBatches) {
  for (size_t workers : {0, 2}) {
    auto loader = make_data_loader(Numbers(0).map(Stack()), DataLoaderOptions().workers(workers));
    EXPECT_TRUE(epoch(*loader).empty());
  }
}

// Counts down from where it stands; safe for several workers.
struct Countdown : datasets::StatefulDataset<Countdown, std::vector<int>, size_t> {
  explicit Countdown(int n) : total(n) {}
  std::optional<std::vector<int>> get_batch(size_t size) override {
    std::lock_guard<std::mutex> lock(state->first);
    if (state->second == 0) return std::nullopt;
    std::vector<int> batch;
    while (batch.size() < size && state->second > 0) batch.push_back(state->second--);
    return batch;
  }
  void reset() override { state->second = total; }
  std::optional<size_t> size() const override { return std::nullopt; }
  void save(serialize::OutputArchive&) const override {}
  void load(serialize::InputArchive&) override {}
  int total;
  std::shared_ptr<std::pair<std::mutex, int>> state = std::make_shared<std::pair<std::mutex, int>>();
};

TEST(DataLoader, StatefulDatasetsEndThemselves) {
  for (size_t workers : {0, 1, 3}) {
    auto loader = make_data_loader(Countdown(11), DataLoaderOptions().batch_size(4).workers(workers));
    for (int repeat = 0; repeat < 2; repeat++) {
      std::multiset<int> seen;
      for (auto& batch : *loader) seen.insert(batch.begin(), batch.end());
      EXPECT_EQ(seen.size(), 11u) << workers;
      EXPECT_EQ(*seen.rbegin(), 11) << workers;
    }
  }
}

TEST(DataLoader, SharedDatasetsAreNotCopied) {
  struct Counting : datasets::BatchDataset<Counting, std::vector<int>> {
    std::vector<int> get_batch(cresset::ArrayRef<size_t> request) override {
      asked += request.size();
      return std::vector<int>(request.size(), 1);
    }
    std::optional<size_t> size() const override { return 10; }
    std::atomic<size_t> asked{0};
  };
  auto shared = datasets::make_shared_dataset<Counting>();
  auto loader = make_data_loader(shared, DataLoaderOptions().batch_size(3).workers(3));
  size_t count = 0;
  for (auto& batch : *loader) count += batch.size();
  EXPECT_EQ(count, 10u);
  EXPECT_EQ(shared->asked, 10u);
}

// Chunks of 3, 0, 4 and 2 numbers.
struct NumberReader : data::datasets::ChunkDataReader<int> {
  std::vector<int> read_chunk(size_t chunk_index) override {
    static const std::vector<std::vector<int>> chunks = {{0, 1, 2}, {}, {3, 4, 5, 6}, {7, 8}};
    return chunks.at(chunk_index);
  }
  size_t chunk_count() override { return 4; }
  void reset() override {}
};

TEST(ChunkDataset, GivesEveryExampleOnceAnEpochInTheSamplersOrder) {
  using Ordered = data::datasets::ChunkDataset<NumberReader, data::samplers::SequentialSampler, data::samplers::SequentialSampler>;
  for (size_t threads : {1, 3}) {
    for (size_t cache : {4, 2048}) {
      Ordered dataset(NumberReader(), data::samplers::SequentialSampler(4), data::samplers::SequentialSampler(0),
                      data::datasets::ChunkDatasetOptions(threads, 4, cache));
      EXPECT_THROW(dataset.get_batch(4), Error);
      for (int epoch = 0; epoch < 2; epoch++) {
        dataset.reset();
        std::vector<std::vector<int>> batches;
        while (auto batch = dataset.get_batch()) batches.push_back(*batch);
        EXPECT_EQ(batches, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8}}));
      }
    }
  }
}

TEST(ChunkDataset, MixesChunksAndGoesThroughLoaders) {
  using Mixed = data::datasets::ChunkDataset<NumberReader>;
  int groups = 0;
  auto loader = data::make_data_loader(Mixed(NumberReader(), data::samplers::RandomSampler(4), data::samplers::RandomSampler(0),
                                             data::datasets::ChunkDatasetOptions(2, 4, 8, 2), [&](std::vector<int>&) { groups++; }),
                                       data::DataLoaderOptions(4).workers(2));
  for (int epoch = 1; epoch <= 2; epoch++) {
    std::multiset<int> seen;
    for (auto& batch : *loader) seen.insert(batch.begin(), batch.end());
    EXPECT_EQ(seen, (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(groups, 2 * epoch);
  }
  EXPECT_THROW(data::datasets::ChunkDatasetOptions(0, 4), ValueError);
}

}  // namespace
