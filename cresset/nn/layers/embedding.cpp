#include "cresset/nn/layers/embedding.h"

#include <ostream>

#include "cresset/nn/utils/init.h"

namespace cresset::nn {

namespace {

int64_t wrap_padding_idx(const char* name, std::optional<int64_t> index, int64_t rows) {
  if (!index) return -1;
  CRESSET_CHECK(*index >= -rows && *index < rows, name, ": padding_idx must be within the number of rows, got ", *index, ", expected -", rows, " to ",
                rows - 1);
  return *index < 0 ? *index + rows : *index;
}

// Scales down, in place, the rows in use whose norm exceeds the limit.
void renormalise(Tensor weight, const Tensor& indices, double max_norm, double norm_type) {
  NoGradGuard guard;
  cresset::embedding_renorm_(weight, indices, max_norm, norm_type);
}

template <class Options> void check_given_weight(const char* name, const Options& options) {
  const IntArrayRef got = options._weight().sizes();
  CRESSET_CHECK(got.size() == 2 && got[0] == options.num_embeddings() && got[1] == options.embedding_dim(), name, ": shape of the given weight, got ", got,
                ", expected [", options.num_embeddings(), ", ", options.embedding_dim(), "]");
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions o) : options(std::move(o)) { EmbeddingImpl::reset(); }

void EmbeddingImpl::reset() {
  if (options.padding_idx()) options.padding_idx(wrap_padding_idx("Embedding", options.padding_idx(), options.num_embeddings()));
  if (options._weight().defined()) {
    check_given_weight("Embedding", options);
    weight = register_parameter("weight", options._weight());
    return;
  }
  weight = register_parameter("weight", cresset::empty({options.num_embeddings(), options.embedding_dim()}));
  reset_parameters();
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  NoGradGuard guard;
  weight.select(0, *options.padding_idx()).fill_(0);
}

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "torch::nn::Embedding(num_embeddings=" << options.num_embeddings() << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq()) stream << ", scale_grad_by_freq=true";
  if (options.sparse()) stream << ", sparse=true";
  stream << ")";
}

Tensor EmbeddingImpl::forward(const Tensor& indices) {
  if (options.max_norm()) renormalise(weight, indices, *options.max_norm(), options.norm_type());
  return cresset::embedding(weight, indices, options.padding_idx().value_or(-1), options.scale_grad_by_freq(), options.sparse());
}

Embedding Embedding::from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& o) {
  CRESSET_CHECK(embeddings.dim() == 2, "Embedding: embeddings must have 2 dimensions, got shape ", embeddings.sizes());
  Embedding made(EmbeddingOptions(embeddings.size(0), embeddings.size(1))
                     ._weight(embeddings)
                     .padding_idx(o.padding_idx())
                     .max_norm(o.max_norm())
                     .norm_type(o.norm_type())
                     .scale_grad_by_freq(o.scale_grad_by_freq())
                     .sparse(o.sparse()));
  made->weight.set_requires_grad(!o.freeze());
  return made;
}

EmbeddingBagImpl::EmbeddingBagImpl(EmbeddingBagOptions o) : options(std::move(o)) { EmbeddingBagImpl::reset(); }

void EmbeddingBagImpl::reset() {
  if (options.padding_idx()) options.padding_idx(wrap_padding_idx("EmbeddingBag", options.padding_idx(), options.num_embeddings()));
  if (options._weight().defined()) {
    check_given_weight("EmbeddingBag", options);
    weight = register_parameter("weight", options._weight());
    return;
  }
  weight = register_parameter("weight", cresset::empty({options.num_embeddings(), options.embedding_dim()}));
  reset_parameters();
}

// The row of padding_idx is drawn like the others, as in LibTorch: bags leave it out.
void EmbeddingBagImpl::reset_parameters() { init::normal_(weight); }

void EmbeddingBagImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "torch::nn::EmbeddingBag(num_embeddings=" << options.num_embeddings() << ", embedding_dim=" << options.embedding_dim();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq()) stream << ", scale_grad_by_freq=true";
  if (options.sparse()) stream << ", sparse=true";
  if (options.mode() != kMean) stream << ", mode=" << options.mode().name();
  if (options.include_last_offset()) stream << ", include_last_offset=true";
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  stream << ")";
}

Tensor EmbeddingBagImpl::forward(const Tensor& input, const Tensor& offsets, const Tensor& per_sample_weights) {
  return functional::embedding_bag(input, weight,
                                   functional::EmbeddingBagFuncOptions()
                                       .offsets(offsets)
                                       .max_norm(options.max_norm())
                                       .norm_type(options.norm_type())
                                       .scale_grad_by_freq(options.scale_grad_by_freq())
                                       .mode(options.mode())
                                       .sparse(options.sparse())
                                       .per_sample_weights(per_sample_weights)
                                       .include_last_offset(options.include_last_offset())
                                       .padding_idx(options.padding_idx()));
}

EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& o) {
  CRESSET_CHECK(embeddings.dim() == 2, "EmbeddingBag: embeddings must have 2 dimensions, got shape ", embeddings.sizes());
  EmbeddingBag made(EmbeddingBagOptions(embeddings.size(0), embeddings.size(1))
                        ._weight(embeddings)
                        .max_norm(o.max_norm())
                        .norm_type(o.norm_type())
                        .scale_grad_by_freq(o.scale_grad_by_freq())
                        .mode(o.mode())
                        .sparse(o.sparse())
                        .include_last_offset(o.include_last_offset())
                        .padding_idx(o.padding_idx()));
  made->weight.set_requires_grad(!o.freeze());
  return made;
}

namespace functional {

Tensor one_hot(const Tensor& tensor, int64_t num_classes) { return cresset::one_hot(tensor, num_classes); }

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& o) {
  const int64_t padding_idx = wrap_padding_idx("embedding", o.padding_idx(), weight.size(0));
  if (o.max_norm()) renormalise(weight, input, *o.max_norm(), o.norm_type());
  return cresset::embedding(weight, input, padding_idx, o.scale_grad_by_freq(), o.sparse());
}

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& o) {
  const Tensor& weights = o.per_sample_weights();
  CRESSET_CHECK(input.dim() == 1 || input.dim() == 2, "embedding_bag: input must have 1 or 2 dimensions, got shape ", input.sizes());
  CRESSET_CHECK(!weights.defined() || o.mode() == kSum, "embedding_bag: per_sample_weights needs mode kSum");
  CRESSET_CHECK(!weights.defined() || weights.sizes() == input.sizes(), "embedding_bag: per_sample_weights must have the shape of input, got ", weights.sizes(),
                " and ", input.sizes());
  CRESSET_CHECK(input.dim() == 1 || !o.offsets().defined(), "embedding_bag: offsets do not go with an input of 2 dimensions");
  CRESSET_CHECK(input.dim() == 2 || (o.offsets().defined() && o.offsets().dim() == 1), "embedding_bag: an input of 1 dimension needs offsets of 1 dimension");
  if (o.max_norm()) renormalise(weight, input, *o.max_norm(), o.norm_type());
  // Rows of equal lengths begin at multiples of it.
  const bool rows = input.dim() == 2;
  const Tensor starts = rows ? cresset::arange(0, input.numel(), std::max<int64_t>(input.size(1), 1), kLong).slice(0, 0, input.size(0)) : o.offsets();
  const int64_t padding_idx = wrap_padding_idx("embedding_bag", o.padding_idx(), weight.size(0)), mode = o.mode() == kSum ? 0 : o.mode() == kMax ? 2 : 1;
  std::optional<Tensor> scale;
  if (weights.defined()) scale = weights.reshape({-1});
  return std::get<0>(cresset::embedding_bag(weight, input.reshape({-1}), starts, o.scale_grad_by_freq(), mode, o.sparse(), scale,
                                            o.include_last_offset() && !rows, padding_idx));
}

}  // namespace functional

// Which arguments containers may leave out.
CRESSET_DEFINE_DEFAULT_ARGS(EmbeddingBagImpl, {1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})

}  // namespace cresset::nn
