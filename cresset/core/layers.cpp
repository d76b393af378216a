#include "cresset/core/layers.h"

namespace cresset {

thread_local LayerState t_layer_state;

LayerState& layer_state_of_thread() { return t_layer_state; }

}  // namespace cresset
