#include "cresset/nn/layers/dropout.h"

#include <ostream>

namespace cresset::nn {

namespace {

void check_probability(const char* name, double p) { CRESSET_CHECK_VALUE(p >= 0 && p <= 1, name, ": probability must be between 0 and 1, got ", p); }

}  // namespace

namespace functional {

#define CRESSET_DEFINE_DROPOUT_FUNCTION(name, Options, op)                                                     \
  Tensor name(Tensor input, const Options& o) {                                                                \
    check_probability(#name, o.p());                                                                           \
    return o.inplace() ? cresset::op##_(input, o.p(), o.training()) : cresset::op(input, o.p(), o.training()); \
  }
CRESSET_DEFINE_DROPOUT_FUNCTION(dropout, DropoutFuncOptions, dropout)
CRESSET_DEFINE_DROPOUT_FUNCTION(dropout2d, Dropout2dFuncOptions, feature_dropout)
CRESSET_DEFINE_DROPOUT_FUNCTION(dropout3d, Dropout3dFuncOptions, feature_dropout)
CRESSET_DEFINE_DROPOUT_FUNCTION(alpha_dropout, AlphaDropoutFuncOptions, alpha_dropout)
CRESSET_DEFINE_DROPOUT_FUNCTION(feature_alpha_dropout, FeatureAlphaDropoutFuncOptions, feature_alpha_dropout)

}  // namespace functional

#define CRESSET_DEFINE_DROPOUT(Name, name, FuncOptions)                                                                                     \
  void Name##Impl::reset() { check_probability(#Name, options.p()); }                                                                       \
  void Name##Impl::pretty_print(std::ostream& stream) const {                                                                               \
    stream << std::boolalpha << "torch::nn::" #Name "(p=" << options.p() << ", inplace=" << options.inplace() << ")";                       \
  }                                                                                                                                         \
  Tensor Name##Impl::forward(Tensor input) {                                                                                                \
    return functional::name(std::move(input), functional::FuncOptions().p(options.p()).training(is_training()).inplace(options.inplace())); \
  }
CRESSET_DEFINE_DROPOUT(Dropout, dropout, DropoutFuncOptions)
CRESSET_DEFINE_DROPOUT(Dropout2d, dropout2d, Dropout2dFuncOptions)
CRESSET_DEFINE_DROPOUT(Dropout3d, dropout3d, Dropout3dFuncOptions)
CRESSET_DEFINE_DROPOUT(AlphaDropout, alpha_dropout, AlphaDropoutFuncOptions)
CRESSET_DEFINE_DROPOUT(FeatureAlphaDropout, feature_alpha_dropout, FeatureAlphaDropoutFuncOptions)

}  // namespace cresset::nn
