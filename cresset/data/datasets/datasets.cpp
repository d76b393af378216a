#include <cstring>
#include <mutex>

#include "cresset/data/datasets/cifar10.h"
#include "cresset/data/datasets/gz_file.h"
#include "cresset/data/datasets/mnist.h"
#include "cresset/data/datasets/tensor.h"

namespace cresset::data::datasets {

TensorDataset::TensorDataset(const std::vector<Tensor>& tensors) : TensorDataset(cresset::stack(tensors)) {}
TensorExample TensorDataset::get(size_t index) { return tensor.select(0, static_cast<int64_t>(index)); }
std::optional<size_t> TensorDataset::size() const { return static_cast<size_t>(tensor.size(0)); }

namespace {

constexpr int64_t kTrainCount = 60000, kTestCount = 10000, kRows = 28, kColumns = 28;

uint32_t big_endian(const unsigned char* p) { return (uint32_t{p[0]} << 24) | (uint32_t{p[1]} << 16) | (uint32_t{p[2]} << 8) | uint32_t{p[3]}; }

// Checks the header of an IDX file of bytes and returns what follows it.
const unsigned char* idx_body(const data::detail::FileContent& file, std::initializer_list<int64_t> sizes) {
  const size_t header = 4 + 4 * sizes.size();
  CRESSET_CHECK(file.bytes.size() >= header, "MNIST: '", file.path, "' is truncated, got ", file.bytes.size(), " bytes, the header alone has ", header);
  const uint32_t magic = big_endian(file.bytes.data()), wanted = 0x800 + static_cast<uint32_t>(sizes.size());
  CRESSET_CHECK(magic == wanted, "MNIST: '", file.path, "' has magic number ", magic, ", expected ", wanted);
  size_t elements = 1, i = 0;
  for (int64_t size : sizes) {
    const uint32_t got = big_endian(file.bytes.data() + 4 + 4 * i);
    CRESSET_CHECK(got == static_cast<uint64_t>(size), "MNIST: '", file.path, "' has size ", got, " in dimension ", i, ", expected ", size);
    elements *= static_cast<size_t>(size);
    i++;
  }
  CRESSET_CHECK(file.bytes.size() == header + elements, "MNIST: '", file.path, "' is truncated or too long, got ", file.bytes.size(), " bytes, expected ",
                header + elements);
  return file.bytes.data() + header;
}

void check_label(const char* name, const std::string& path, int64_t position, int label) {
  CRESSET_CHECK(label <= 9, name, ": '", path, "' has label ", label, " at position ", position, ", expected 0 to 9");
}

// float32(byte) / 255, as dividing a tensor by 255 gives.
void scale_bytes(const unsigned char* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i++) to[i] = static_cast<float>(from[i]) / 255.0f;
}

}  // namespace

struct MNIST::Floats {
  std::once_flag made;
  Tensor images;
};

MNIST::MNIST(const std::string& root, Mode mode) : floats_(std::make_shared<Floats>()), train_(mode == Mode::kTrain) {
  const std::string prefix = (root.empty() ? std::string() : root.back() == '/' ? root : root + "/") + (train_ ? "train" : "t10k");
  const int64_t count = train_ ? kTrainCount : kTestCount;
  const size_t pixels = static_cast<size_t>(count * kRows * kColumns);
  const auto image_file = data::detail::read_file("MNIST", prefix + "-images-idx3-ubyte", pixels + 64);
  const auto label_file = data::detail::read_file("MNIST", prefix + "-labels-idx1-ubyte", static_cast<size_t>(count) + 64);
  const unsigned char* image_bytes = idx_body(image_file, {count, kRows, kColumns});
  const unsigned char* labels = idx_body(label_file, {count});
  bytes_ = cresset::empty({count, 1, kRows, kColumns}, kByte);
  targets_ = cresset::empty({count}, kLong);
  std::memcpy(bytes_.data_ptr(), image_bytes, static_cast<size_t>(bytes_.numel()));
  int64_t* targets = targets_.data_ptr<int64_t>();
  for (int64_t i = 0; i < count; i++) {
    check_label("MNIST", label_file.path, i, labels[i]);
    targets[i] = labels[i];
  }
}

const Tensor& MNIST::images() const {
  std::call_once(floats_->made, [&] {
    floats_->images = cresset::empty(bytes_.sizes(), kFloat);
    scale_bytes(bytes_.data_ptr<uint8_t>(), bytes_.numel(), floats_->images.data_ptr<float>());
  });
  return floats_->images;
}

Example<> MNIST::get(size_t index) {
  const int64_t i = static_cast<int64_t>(index);
  const Tensor target = targets_.select(0, i), bytes = bytes_.select(0, i), image = cresset::empty(bytes.sizes(), kFloat);
  scale_bytes(bytes.data_ptr<uint8_t>(), bytes.numel(), image.data_ptr<float>());
  return {image, target};
}
std::optional<size_t> MNIST::size() const { return static_cast<size_t>(targets_.size(0)); }

namespace {

std::vector<std::string> cifar_files(const std::string& root, CIFAR10::Mode mode) {
  const std::string prefix = root.empty() || root.back() == '/' ? root : root + "/";
  if (mode == CIFAR10::Mode::kTest) return {prefix + "test_batch.bin"};
  std::vector<std::string> files;
  for (int i = 1; i <= 5; i++) files.push_back(prefix + "data_batch_" + std::to_string(i) + ".bin");
  return files;
}

}  // namespace

CIFAR10::CIFAR10(const std::string& root, Mode mode) : CIFAR10(cifar_files(root, mode), mode) {}

CIFAR10::CIFAR10(const std::vector<std::string>& files, Mode mode) : train_(mode == Mode::kTrain) {
  constexpr size_t kImage = 3 * 32 * 32, kRecord = kImage + 1, kFileLimit = 10000 * kRecord;
  std::vector<data::detail::FileContent> contents;
  size_t records = 0;
  for (const std::string& file : files) {
    contents.push_back(data::detail::read_file("CIFAR10", file, kFileLimit));
    const auto& content = contents.back();
    CRESSET_CHECK(!content.bytes.empty() && content.bytes.size() % kRecord == 0, "CIFAR10: '", content.path, "' is truncated, got ", content.bytes.size(),
                  " bytes, expected records of ", kRecord);
    records += content.bytes.size() / kRecord;
  }
  CRESSET_CHECK(records > 0, "CIFAR10: no files given");
  images_ = cresset::empty({static_cast<int64_t>(records), 3, 32, 32}, kFloat);
  targets_ = cresset::empty({static_cast<int64_t>(records)}, kLong);
  float* image = images_.data_ptr<float>();
  int64_t* target = targets_.data_ptr<int64_t>();
  for (const auto& content : contents) {
    for (size_t i = 0; i < content.bytes.size() / kRecord; i++) {
      const unsigned char* record = content.bytes.data() + i * kRecord;
      check_label("CIFAR10", content.path, static_cast<int64_t>(i), record[0]);
      *target++ = record[0];
      scale_bytes(record + 1, kImage, image);
      image += kImage;
    }
  }
}

Example<> CIFAR10::get(size_t index) { return {images_.select(0, static_cast<int64_t>(index)), targets_.select(0, static_cast<int64_t>(index))}; }
std::optional<size_t> CIFAR10::size() const { return static_cast<size_t>(images_.size(0)); }

}  // namespace cresset::data::datasets
