#pragma once
// The MNIST handwritten digits, from the four IDX files, gzipped or not.

#include <memory>
#include <string>

#include "cresset/data/datasets/base.h"

namespace cresset::data::datasets {

// Images float32 (1, 28, 28) in [0, 1], targets int64.
class CRESSET_API MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };
  // Errors: a file that is missing, truncated or not what its name says.
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return train_; }
  // All of them: (N, 1, 28, 28) and (N). The images are kept as bytes; the first call makes the floats, 3 KiB an image.
  const Tensor& images() const;
  const Tensor& targets() const { return targets_; }

 private:
  struct Floats;
  Tensor bytes_, targets_;
  std::shared_ptr<Floats> floats_;
  bool train_;
};

}  // namespace cresset::data::datasets
