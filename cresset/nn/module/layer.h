#pragma once
// Shared by the families of layers.

#include "cresset/base/arg.h"
#include "cresset/nn/module/cloneable.h"
#include "cresset/nn/module/enum.h"
#include "cresset/nn/module/expanding_array.h"
#include "cresset/nn/module/pimpl.h"

// Short constructors stand beside their class and are compiled in layer.cpp: one in a header costs what its whole class costs.
#ifdef CRESSET_INSTANTIATE_LAYERS
#define CRESSET_IN_LAYERS(...) __VA_ARGS__
#else
#define CRESSET_IN_LAYERS(...)
#endif

namespace cresset::nn::detail {

// A layer without parameters that is described by its options.
template <class Derived, class Options> class CRESSET_API OptionsLayer : public Cloneable<Derived> {
 public:
  OptionsLayer() = default;
  explicit OptionsLayer(const Options& o) : options(o) {}
  void reset() override {}

  Options options;
};

// A layer without parameters and options.
template <class Derived> class CRESSET_API PlainLayer : public Cloneable<Derived> {
 public:
  void reset() override {}
};

}  // namespace cresset::nn::detail
