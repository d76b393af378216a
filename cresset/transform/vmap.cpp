#include "cresset/transform/vmap.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "cresset/autograd/batched.h"
#include "cresset/core/hooks.h"
#include "cresset/core/random/generator.h"
#include "cresset/ops/functions.h"
#include "cresset/transform/func_aux.h"
#include "cresset/transform/vmap_layer.h"

namespace cresset::func {

namespace {

thread_local const VmapLevel* t_current = nullptr;

void wake_layer(bool on) {
  LayerState& state = layer_state();
  const uint8_t bit = layer_bit(Layer::Vmap);
  state.included = static_cast<uint8_t>(on ? state.included | bit : state.included & ~bit);
}

int64_t wrapped_dim(const char* what, int64_t dim, int64_t rank) {
  CRESSET_CHECK_INDEX(dim >= -rank && dim < rank, "vmap: ", what, " is out of range (expected within [", -rank, ", ", rank - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + rank : dim;
}

std::optional<int64_t> dim_of(const std::vector<std::optional<int64_t>>& dims, size_t i) { return dims.empty() ? 0 : dims.size() == 1 ? dims[0] : dims[i]; }

int64_t batch_size_of(const Tensors& arguments, const VmapOptions& options) {
  CRESSET_CHECK_VALUE(options.in_dims.size() <= 1 || options.in_dims.size() == arguments.size(), "vmap: got in_dims for ", options.in_dims.size(),
                      " arguments, but ", arguments.size(), " arguments");
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < arguments.size(); i++) {
    const auto dim = dim_of(options.in_dims, i);
    if (!dim) continue;
    const Tensor& t = arguments[i];
    CRESSET_CHECK_VALUE(*dim >= -t.dim() && *dim < t.dim(), "vmap: Got in_dim=", *dim, " for argument ", i, ", but it is a Tensor of ", "dimensionality ",
                        t.dim(), " so expected in_dim to satisfy -", t.dim(), " <= in_dim < ", t.dim());
    sizes.push_back(t.size(*dim));
  }
  CRESSET_CHECK_VALUE(!sizes.empty(), "vmap: got no tensor to map over");
  for (const int64_t size : sizes)
    CRESSET_CHECK_VALUE(size == sizes[0], "vmap: the mapped dimensions differ in size, got ", IntArrayRef(sizes), " for the mapped dimension");
  return sizes[0];
}

Mapped run(const std::function<Mapped(const Tensors&)>& f, const Tensors& arguments, int64_t size, const VmapOptions& options) {
  const VmapLevel level(size, options.randomness);
  Tensors elements;
  for (size_t i = 0; i < arguments.size(); i++) {
    const auto dim = dim_of(options.in_dims, i);
    elements.push_back(dim ? level.wrap(arguments[i], *dim) : arguments[i]);
  }
  Mapped found = f(elements);
  for (size_t i = 0; i < found.results.size(); i++) {
    Tensor& result = found.results[i];
    CRESSET_CHECK_VALUE(found.out_dims[i] || !autograd::has_level(result, level.number()),
                        "vmap: the function returned a mapped tensor where out_dims is None, as result ", i);
    if (found.out_dims[i]) result = level.unwrap(result, *found.out_dims[i]);
  }
  return found;
}

}  // namespace

VmapLevel::VmapLevel(int64_t batch_size, Randomness randomness) : batch_size_(batch_size), randomness_(randomness), outer_(t_current) {
  static std::atomic<uint64_t> last{0};
  static const bool registered = (autograd::set_batching_layer(batching_layer), true);
  (void)registered;
  number_ = ++last;
  t_current = this;
  wake_layer(true);
}
VmapLevel::~VmapLevel() {
  t_current = outer_;
  if (!outer_) wake_layer(false);
}

Tensor VmapLevel::wrap(const Tensor& t, int64_t dim) const {
  const int64_t place = wrapped_dim("dimension", dim, t.dim());
  CRESSET_CHECK_VALUE(t.size(place) == batch_size_, "vmap: the mapped dimensions differ in size, got ", batch_size_, " and ", t.size(place),
                      " for the mapped dimension");
  return autograd::with_level(t, number_, place);
}

Tensor VmapLevel::unwrap(const Tensor& t, int64_t dim) const {
  return autograd::without_level(t, number_, batch_size_, wrapped_dim("Dimension", dim, t.dim() + 1));
}

const VmapLevel* current_vmap() { return t_current; }
const VmapLevel* set_current_vmap(const VmapLevel* level) {
  wake_layer(level != nullptr);
  return std::exchange(t_current, level);
}
// The layer stays as it is: what runs in the scope may be batched.
WithinVmap::WithinVmap(const VmapLevel* level) : saved_(t_current) { t_current = level; }
WithinVmap::~WithinVmap() { t_current = saved_; }

Tensor batched_at_all_levels(const Tensor& t) {
  Tensor out = t;
  for (const VmapLevel* level = t_current; level; level = level->outer())
    if (!autograd::has_level(out, level->number()))
      out = autograd::with_level(autograd::without_level(out, level->number(), level->batch_size(), 0), level->number(), 0);
  return out;
}

Tensors map_over_batch(const std::function<Mapped(const Tensors&)>& f, const Tensors& arguments, const VmapOptions& options) {
  CRESSET_CHECK_VALUE(options.chunk_size >= 0, "vmap: chunk_size should be greater than 0, got ", options.chunk_size);
  const int64_t size = batch_size_of(arguments, options), step = options.chunk_size;
  if (step == 0 || step >= size) return run(f, arguments, size, options).results;
  // All chunks draw the same numbers, too.
  const std::vector<uint8_t> start = options.randomness == Randomness::Same ? default_generator().get_state() : std::vector<uint8_t>();
  std::vector<Tensors> parts;
  std::vector<std::optional<int64_t>> out_dims;
  for (int64_t at = 0; at < size; at += step) {
    const int64_t n = std::min(step, size - at);
    Tensors part;
    for (size_t i = 0; i < arguments.size(); i++) {
      const auto dim = dim_of(options.in_dims, i);
      part.push_back(dim ? arguments[i].narrow(*dim, at, n) : arguments[i]);
    }
    if (!start.empty()) default_generator().set_state(start);
    Mapped found = run(f, part, n, options);
    parts.resize(found.results.size());
    for (size_t i = 0; i < parts.size(); i++) parts[i].push_back(std::move(found.results[i]));
    out_dims = std::move(found.out_dims);
  }
  Tensors joined;
  for (size_t i = 0; i < parts.size(); i++) joined.push_back(out_dims[i] ? cresset::cat(parts[i], *out_dims[i]) : parts[i][0]);
  return joined;
}

Function vmap(Function f, VmapOptions options) {
  CRESSET_CHECK_VALUE(options.chunk_size >= 0, "vmap: chunk_size should be greater than 0, got ", options.chunk_size);
  return [f = std::move(f), options = std::move(options)](const Tensors& arguments) {
    const auto mapped = [&](const Tensors& elements) {
      Mapped found{f(elements), {}};
      CRESSET_CHECK_VALUE(options.out_dims.size() <= 1 || options.out_dims.size() == found.results.size(), "vmap: got out_dims for ", options.out_dims.size(),
                          " results, but the function returned ", found.results.size());
      for (size_t i = 0; i < found.results.size(); i++) found.out_dims.push_back(dim_of(options.out_dims, i));
      return found;
    };
    return map_over_batch(mapped, arguments, options);
  };
}

}  // namespace cresset::func
