#pragma once
// CIFAR-10 from its binary files (data_batch_1.bin … data_batch_5.bin, test_batch.bin), gzipped or not.

#include <string>

#include "cresset/data/datasets/base.h"

namespace cresset::data::datasets {

// Images float32 (3, 32, 32) in [0, 1], targets int64.
class CRESSET_API CIFAR10 : public Dataset<CIFAR10> {
 public:
  enum class Mode { kTrain, kTest };
  // `root` is the folder of the files. Errors: a file that is missing, truncated or holds a label above 9.
  explicit CIFAR10(const std::string& root, Mode mode = Mode::kTrain);
  // Any files of that layout.
  explicit CIFAR10(const std::vector<std::string>& files, Mode mode = Mode::kTrain);
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return train_; }
  const Tensor& images() const { return images_; }
  const Tensor& targets() const { return targets_; }

 private:
  Tensor images_, targets_;
  bool train_;
};

}  // namespace cresset::data::datasets
