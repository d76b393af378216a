#pragma once
// Embedding and EmbeddingBag: rows of a table by index, alone or reduced bag by bag.

#include <optional>

#include "cresset/nn/module/any.h"
#include "cresset/nn/module/layer.h"

namespace cresset::nn {

using EmbeddingBagMode = enumtype::OneOf<enumtype::kMean, enumtype::kSum, enumtype::kMax>;

struct CRESSET_API EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim) : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  CRESSET_ARG(int64_t, num_embeddings);
  CRESSET_ARG(int64_t, embedding_dim);
  // The row that starts at 0 and gets no gradient.
  CRESSET_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  // Rows that are looked up are first scaled down to this norm, in place.
  CRESSET_ARG(std::optional<double>, max_norm) = std::nullopt;
  CRESSET_ARG(double, norm_type) = 2.0;
  CRESSET_ARG(bool, scale_grad_by_freq) = false;
  CRESSET_ARG(bool, sparse) = false;
  // Initial values in place of N(0, 1).
  CRESSET_ARG(Tensor, _weight) = Tensor();
};
struct CRESSET_API EmbeddingFromPretrainedOptions {
  CRESSET_ARG(bool, freeze) = true;
  CRESSET_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  CRESSET_ARG(std::optional<double>, max_norm) = std::nullopt;
  CRESSET_ARG(double, norm_type) = 2.0;
  CRESSET_ARG(bool, scale_grad_by_freq) = false;
  CRESSET_ARG(bool, sparse) = false;
};
struct CRESSET_API EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim) : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  CRESSET_ARG(int64_t, num_embeddings);
  CRESSET_ARG(int64_t, embedding_dim);
  CRESSET_ARG(std::optional<double>, max_norm) = std::nullopt;
  CRESSET_ARG(double, norm_type) = 2.0;
  CRESSET_ARG(bool, scale_grad_by_freq) = false;
  CRESSET_ARG(EmbeddingBagMode, mode) = kMean;
  CRESSET_ARG(bool, sparse) = false;
  CRESSET_ARG(Tensor, _weight) = Tensor();
  CRESSET_ARG(bool, include_last_offset) = false;
  CRESSET_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};
struct CRESSET_API EmbeddingBagFromPretrainedOptions {
  CRESSET_ARG(bool, freeze) = true;
  CRESSET_ARG(std::optional<double>, max_norm) = std::nullopt;
  CRESSET_ARG(double, norm_type) = 2.0;
  CRESSET_ARG(bool, scale_grad_by_freq) = false;
  CRESSET_ARG(EmbeddingBagMode, mode) = kMean;
  CRESSET_ARG(bool, sparse) = false;
  CRESSET_ARG(bool, include_last_offset) = false;
  CRESSET_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

// Integers (*) -> (*, embedding_dim).
class CRESSET_API EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim) : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& indices);

  EmbeddingOptions options;
  Tensor weight;
};

class CRESSET_API Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  using Impl = EmbeddingImpl;
  static Embedding from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};

// One vector per bag: (B, N) indices, or (N) with the offsets at which bags start.
class CRESSET_API EmbeddingBagImpl : public Cloneable<EmbeddingBagImpl> {
 public:
  EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim) : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingBagImpl(EmbeddingBagOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {});

  EmbeddingBagOptions options;
  Tensor weight;
  CRESSET_DECLARE_DEFAULT_ARGS()
};

class CRESSET_API EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
  using Impl = EmbeddingBagImpl;
  static EmbeddingBag from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options = {});
};

namespace functional {

struct CRESSET_API EmbeddingFuncOptions {
  CRESSET_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  CRESSET_ARG(std::optional<double>, max_norm) = std::nullopt;
  CRESSET_ARG(double, norm_type) = 2.0;
  CRESSET_ARG(bool, scale_grad_by_freq) = false;
  CRESSET_ARG(bool, sparse) = false;
};
struct CRESSET_API EmbeddingBagFuncOptions {
  CRESSET_ARG(Tensor, offsets) = Tensor();
  CRESSET_ARG(std::optional<double>, max_norm) = std::nullopt;
  CRESSET_ARG(double, norm_type) = 2.0;
  CRESSET_ARG(bool, scale_grad_by_freq) = false;
  CRESSET_ARG(EmbeddingBagMode, mode) = kMean;
  CRESSET_ARG(bool, sparse) = false;
  CRESSET_ARG(Tensor, per_sample_weights) = Tensor();
  CRESSET_ARG(bool, include_last_offset) = false;
  CRESSET_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

CRESSET_API Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options = {});
CRESSET_API Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options = {});
CRESSET_API Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);

}  // namespace functional

}  // namespace cresset::nn
