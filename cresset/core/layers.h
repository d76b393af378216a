#pragma once
// Which layers of the dispatcher a tensor wakes and a thread includes or excludes. Lowest bit = innermost layer.

#include <cstdint>

#include "cresset/base/macros.h"

namespace cresset {

// LazyMath belongs to tensors whose memory is not what kernels compute on: conjugation or negation is yet to be done, the dtype is
// only stored (float8, complex32), or a thread's tensors are fake.
enum class Layer : uint8_t { LazyMath, Autograd, Autocast, Functionalize, Vmap, Capture, PythonModes, Profiler };
constexpr int kNumLayers = 8;
constexpr uint8_t layer_bit(Layer l) { return static_cast<uint8_t>(1u << static_cast<int>(l)); }
constexpr uint8_t kLazyMathLayer = layer_bit(Layer::LazyMath);
constexpr uint8_t kAutogradLayer = layer_bit(Layer::Autograd);

class FakeMode;

// Whose kernel runs: one of a backend whose tensors have no data makes none either (`cresset/core/fake_mode.h`).
enum class NoData : uint8_t { None, Meta, Fake };

struct LayerState {
  // `excluded` is `hidden` (what scopes exclude) plus the autograd layer while nothing is recorded, so that a call needs one mask.
  uint8_t included = 0, excluded = 0;
  bool grad_mode = true, inference_mode = false;
  uint8_t hidden = 0;
  NoData no_data = NoData::None;
  FakeMode* fake_mode = nullptr;  // what makes tensors fake here, with the lazy layer included

  void refresh() { excluded = static_cast<uint8_t>(hidden | (grad_mode && !inference_mode ? 0 : kAutogradLayer)); }
  void set_hidden(uint8_t bits) {
    hidden = bits;
    refresh();
  }
  void set_grad_mode(bool on) {
    grad_mode = on;
    refresh();
  }
  void set_inference_mode(bool inference, bool grad) {
    inference_mode = inference;
    set_grad_mode(grad);
  }
};

// Local to the library, where it costs one load; others go through the call.
CRESSET_API LayerState& layer_state_of_thread();
#if defined(CRESSET_BUILDING_LIBRARY)
extern thread_local LayerState t_layer_state __attribute__((tls_model("initial-exec"), visibility("hidden")));
inline LayerState& layer_state() { return t_layer_state; }
#else
inline LayerState& layer_state() { return layer_state_of_thread(); }
#endif

class CRESSET_API NoDataScope {
 public:
  explicit NoDataScope(NoData n) : saved_(layer_state().no_data) {
    if (CRESSET_UNLIKELY(n != NoData::None)) layer_state().no_data = n;
  }
  ~NoDataScope() { layer_state().no_data = saved_; }
  NoDataScope(const NoDataScope&) = delete;
  NoDataScope& operator=(const NoDataScope&) = delete;

 private:
  NoData saved_;
};

// Hides layers from calls made in its scope.
class CRESSET_API ExcludeLayers {
 public:
  explicit ExcludeLayers(uint8_t bits) : saved_(layer_state().hidden) { layer_state().set_hidden(static_cast<uint8_t>(saved_ | bits)); }
  ~ExcludeLayers() { layer_state().set_hidden(saved_); }
  ExcludeLayers(const ExcludeLayers&) = delete;
  ExcludeLayers& operator=(const ExcludeLayers&) = delete;

 private:
  uint8_t saved_;
};

}  // namespace cresset
