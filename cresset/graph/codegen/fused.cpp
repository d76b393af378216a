#include "cresset/graph/codegen/fused.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "cresset/base/parallel.h"

namespace cresset::graph {

// How an argument is read in a tile: in place, or from a copy of the tile's part, which is made first.
struct FusedSource {
  char* data = nullptr;
  int64_t element = 0;
  enum Kind : uint8_t { InPlace, One, Copied } kind = InPlace;
  // Of a copied one: sizes and strides in bytes, innermost first, over the shape of the result.
  std::vector<int64_t> sizes, strides;
};

namespace {

constexpr int64_t kCacheBytes = 24 << 10;  // of a tile: half of a first-level cache

template <class T> void copy_strided(char* to, const char* from, int64_t stride, int64_t n) {
  T* out = reinterpret_cast<T*>(to);
  if (stride == 0) {
    std::fill(out, out + n, *reinterpret_cast<const T*>(from));
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = *reinterpret_cast<const T*>(from + i * stride);
}

void copy_run(char* to, const char* from, int64_t element, int64_t stride, int64_t n) {
  if (stride == element) {
    std::memcpy(to, from, static_cast<size_t>(n * element));
    return;
  }
  struct Wide {
    uint64_t parts[2];
  };
  switch (element) {
    case 1: return copy_strided<uint8_t>(to, from, stride, n);
    case 2: return copy_strided<uint16_t>(to, from, stride, n);
    case 4: return copy_strided<uint32_t>(to, from, stride, n);
    case 8: return copy_strided<uint64_t>(to, from, stride, n);
    default: return copy_strided<Wide>(to, from, stride, n);
  }
}

// Elements [begin, end) of the flattened shape.
void copy_tile(const FusedSource& s, char* to, int64_t begin, int64_t end) {
  const size_t dims = s.sizes.size();
  int64_t index[kernels::kMaxDims], rest = begin;
  const char* from = s.data;
  for (size_t d = 0; d < dims; d++) {
    index[d] = rest % s.sizes[d];
    rest /= s.sizes[d];
    from += index[d] * s.strides[d];
  }
  for (int64_t done = begin; done < end;) {
    const int64_t n = std::min(s.sizes[0] - index[0], end - done);
    copy_run(to, from, s.element, s.strides[0], n);
    to += n * s.element;
    done += n;
    from -= index[0] * s.strides[0];
    index[0] = 0;
    for (size_t d = 1; d < dims; d++) {
      if (++index[d] < s.sizes[d]) {
        from += s.strides[d];
        break;
      }
      from -= (s.sizes[d] - 1) * s.strides[d];
      index[d] = 0;
    }
  }
}

// The shape that two broadcast to.
DimVector joined(IntArrayRef a, IntArrayRef b) {
  const size_t n = std::max(a.size(), b.size());
  DimVector out(n);
  for (size_t d = 0; d < n; d++) {
    const int64_t x = d + a.size() < n ? 1 : a[d + a.size() - n], y = d + b.size() < n ? 1 : b[d + b.size() - n];
    CRESSET_CHECK(x == y || x == 1 || y == 1, "fused kernel: shapes ", a, " and ", b, " do not broadcast");
    out[d] = x == 1 ? y : x;
  }
  return out;
}

FusedSource source_of(const Tensor& t, IntArrayRef shape, int64_t total) {
  FusedSource s;
  s.data = static_cast<char*>(t.impl()->data());
  s.element = static_cast<int64_t>(t.element_size());
  if (t.numel() == 1) {
    s.kind = FusedSource::One;
    return s;
  }
  if (t.numel() == total && t.is_contiguous()) return s;
  s.kind = FusedSource::Copied;
  const int64_t lead = static_cast<int64_t>(shape.size()) - t.dim();
  for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; d--) {
    if (shape[d] == 1) continue;
    const int64_t stride = d < lead || t.sizes()[d - lead] == 1 ? 0 : t.strides()[d - lead] * s.element;
    if (!s.sizes.empty() && stride == s.strides.back() * s.sizes.back()) {
      s.sizes.back() *= shape[d];
    } else {
      s.sizes.push_back(shape[d]);
      s.strides.push_back(stride);
    }
  }
  return s;
}

}  // namespace

Tensor taken_over(const Tensor& from, IntArrayRef sizes, ScalarType dtype) {
  const auto& storage = from.impl()->storage();
  size_t bytes = element_size(dtype);
  for (const int64_t size : sizes) bytes *= static_cast<size_t>(size);
  const auto& base = from.impl()->view_base();
  const bool alone = base.defined() ? base.use_count() == 1 && base->storage() == storage && storage.use_count() == 2 : storage.use_count() == 1;
  // Memory that is lent or foreign may be read where nothing counts.
  if (from.use_count() != 1 || !alone || !storage->resizable() || storage->nbytes() != bytes || !from.is_contiguous()) return {};
  auto impl = make_intrusive<TensorImpl>(storage, dtype, Device(kCPU));
  impl->set_sizes_contiguous(sizes);
  return Tensor(std::move(impl));
}

std::vector<std::vector<int>> heirs_of(const std::vector<ScalarType>& arguments, const std::vector<int>& last_read, const std::vector<int>& outputs,
                                       const std::vector<ScalarType>& results) {
  std::vector<std::vector<int>> heirs(outputs.size());
  for (size_t k = 0; k < outputs.size(); k++)
    for (size_t i = 0; i < arguments.size(); i++)
      if (element_size(arguments[i]) == element_size(results[k]) && last_read[i] <= outputs[k]) heirs[k].push_back(static_cast<int>(i));
  return heirs;
}

FusedKernel::FusedKernel(std::vector<ScalarType> arguments, std::vector<FusedStep> steps, std::vector<int> outputs)
    : arguments_(std::move(arguments)), steps_(std::move(steps)), outputs_(std::move(outputs)) {
  const int n = static_cast<int>(steps_.size());
  std::vector<int> last(steps_.size(), -1), last_read(arguments_.size(), -1);
  for (int i = 0; i < n; i++) {
    const FusedStep& step = steps_[i];
    CRESSET_CHECK_VALUE(step.loop && step.result != ScalarType::Undefined && step.inputs.size() < kernels::kMaxOperands, "fused kernel: step ", i,
                        " has no loop");
    for (const FusedStep::Input& input : step.inputs) {
      if (input.kind == FusedStep::Input::Number) continue;
      const int limit = input.kind == FusedStep::Input::Argument ? static_cast<int>(arguments_.size()) : i;
      CRESSET_CHECK_VALUE(input.index >= 0 && input.index < limit, "fused kernel: step ", i, " reads ", input.index, ", expected less than ", limit);
      (input.kind == FusedStep::Input::Step ? last : last_read)[input.index] = i;
    }
    element_ = std::max(element_, static_cast<int64_t>(element_size(step.result)));
  }
  for (const ScalarType t : arguments_) element_ = std::max(element_, static_cast<int64_t>(element_size(t)));
  places_.assign(steps_.size(), {false, -1});
  std::vector<ScalarType> results;
  for (size_t k = 0; k < outputs_.size(); k++) {
    CRESSET_CHECK_VALUE(outputs_[k] >= 0 && outputs_[k] < n, "fused kernel: output ", k, " is step ", outputs_[k], " of ", n);
    places_[outputs_[k]] = {true, static_cast<int>(k)};
    results.push_back(steps_[outputs_[k]].result);
  }
  heirs_ = heirs_of(arguments_, last_read, outputs_, results);
  // A temporary is used again by the step after the last that reads it, for elements of the same size: machine code reads vectors of one while it writes
  // those of the other.
  std::vector<int> free_by_size[17];
  for (int i = 0; i < n; i++) {
    if (!places_[i].is_output) {
      std::vector<int>& free_slots = free_by_size[element_size(steps_[i].result)];
      if (free_slots.empty()) free_slots.push_back(num_slots_++);
      places_[i].index = free_slots.back();
      free_slots.pop_back();
    }
    for (int k = 0; k <= i; k++)
      if (!places_[k].is_output && std::max(last[k], k) == i) free_by_size[element_size(steps_[k].result)].push_back(places_[k].index);
  }
  const int64_t live = num_slots_ + static_cast<int64_t>(arguments_.size() + outputs_.size());
  tile_ = std::clamp<int64_t>(kCacheBytes / (live * element_) / 64 * 64, 128, 2048);
}

std::shared_ptr<const std::vector<machine::Stage>> FusedKernel::stages(const std::vector<bool>& ones) const {
  const std::lock_guard lock(stages_->mutex);
  for (const auto& [known, found] : stages_->known)
    if (known == ones) return found;
  machine::Steps steps;
  for (size_t i = 0; i < steps_.size(); i++) {
    steps.all.push_back(&steps_[i]);
    steps.kept.push_back(places_[i].is_output);
  }
  steps.array = [&](const FusedStep::Input& input) -> machine::Array {
    const auto i = static_cast<size_t>(input.index);
    return input.kind == FusedStep::Input::Step ? machine::Array{steps_[i].result} : machine::Array{arguments_[i], ones[i]};
  };
  auto made = std::make_shared<const std::vector<machine::Stage>>(machine::stages_of(steps));
  stages_->known.emplace_back(ones, made);
  return made;
}

void FusedKernel::run_range(const std::vector<machine::Stage>& stages, const std::vector<FusedSource>& sources, const std::vector<char*>& results,
                            int64_t begin, int64_t end) const {
  thread_local std::vector<char> memory;
  const int64_t slot = tile_ * element_;
  const size_t needed = static_cast<size_t>(slot * (num_slots_ + static_cast<int64_t>(sources.size())) + 64);
  if (memory.size() < needed) memory.resize(needed);
  char* const base = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  char* const copies = base + slot * num_slots_;
  struct Operand {
    char* data;
    int64_t stride;
  };
  std::vector<Operand> arguments(sources.size()), values(steps_.size());
  // One stage of machine code keeps nothing between steps: it runs over everything at once.
  const bool whole =
      stages.size() == 1 && stages[0].image && std::none_of(sources.begin(), sources.end(), [](const FusedSource& s) { return s.kind == FusedSource::Copied; });
  const int64_t tile = whole ? end - begin : tile_;
  for (int64_t at = begin; at < end; at += tile) {
    const int64_t n = std::min(tile, end - at);
    for (size_t k = 0; k < sources.size(); k++) {
      const FusedSource& s = sources[k];
      if (s.kind == FusedSource::Copied) {
        arguments[k] = {copies + static_cast<int64_t>(k) * slot, s.element};
        copy_tile(s, arguments[k].data, at, at + n);
      } else {
        arguments[k] = s.kind == FusedSource::One ? Operand{s.data, 0} : Operand{s.data + at * s.element, s.element};
      }
    }
    for (size_t i = 0; i < steps_.size(); i++) {
      const int64_t size = static_cast<int64_t>(element_size(steps_[i].result));
      values[i] = {places_[i].is_output ? results[places_[i].index] + at * size : base + places_[i].index * slot, size};
    }
    for (const machine::Stage& stage : stages) {
      if (stage.image) {
        char* arrays[machine::kMaxArrays];
        size_t count = 0;
        for (const int step : stage.outputs) arrays[count++] = values[step].data;
        for (const FusedStep::Input& input : stage.inputs)
          arrays[count++] = (input.kind == FusedStep::Input::Argument ? arguments[input.index] : values[input.index]).data;
        stage.run(arrays, n);
        continue;
      }
      const FusedStep& step = steps_[stage.first];
      const int64_t size = static_cast<int64_t>(element_size(step.result));
      char* data[kernels::kMaxOperands];
      int64_t strides[kernels::kMaxOperands];
      data[0] = values[stage.first].data;
      strides[0] = size;
      for (size_t k = 0; k < step.inputs.size(); k++) {
        const FusedStep::Input& input = step.inputs[k];
        const Operand o = input.kind == FusedStep::Input::Argument ? arguments[input.index]
                          : input.kind == FusedStep::Input::Step   ? values[input.index]
                                                                   : Operand{reinterpret_cast<char*>(const_cast<unsigned char*>(input.cell)), 0};
        data[k + 1] = o.data;
        strides[k + 1] = o.stride;
      }
      step.loop(data, strides, n, step.params.data());
    }
  }
}

std::vector<Tensor> FusedKernel::compute(ArrayRef<Tensor> arguments, bool owned) const {
  CRESSET_CHECK(arguments.size() == arguments_.size(), "fused kernel: expected ", arguments_.size(), " tensors, got ", arguments.size());
  DimVector shape;
  for (size_t k = 0; k < arguments.size(); k++) {
    const Tensor& t = arguments[k];
    CRESSET_CHECK(t.defined() && t.is_cpu() && t.scalar_type() == arguments_[k] && t.layout() == Layout::Strided && !t.impl()->is_lazy(),
                  "fused kernel: argument ", k, ": expected a plain tensor of ", arguments_[k], " on the CPU");
    if (k == 0) shape = DimVector(t.sizes());
    else if (IntArrayRef(shape) != t.sizes()) shape = joined(shape, t.sizes());
  }
  int64_t total = 1;
  for (const int64_t size : shape) total *= size;
  std::vector<FusedSource> sources;
  sources.reserve(arguments.size());
  for (const Tensor& t : arguments) sources.push_back(source_of(t, shape, total));
  std::vector<Tensor> out;
  std::vector<char*> results;
  std::vector<bool> taken(arguments.size());
  out.reserve(outputs_.size());
  for (size_t k = 0; k < outputs_.size(); k++) {
    const ScalarType dtype = steps_[outputs_[k]].result;
    Tensor result;
    for (size_t h = 0; owned && h < heirs_[k].size() && !result.defined(); h++) {
      const auto from = static_cast<size_t>(heirs_[k][h]);
      if (taken[from] || sources[from].kind != FusedSource::InPlace) continue;
      result = taken_over(arguments[from], shape, dtype);
      taken[from] = result.defined();
    }
    out.push_back(result.defined() ? std::move(result) : Tensor(make_dense(shape, dtype, Device(kCPU))));
    results.push_back(static_cast<char*>(out.back().impl()->data()));
  }
  if (total == 0) return out;
  const int64_t grain = std::max<int64_t>(tile_, 65536 / static_cast<int64_t>(steps_.size() + 1));
  std::vector<bool> ones;
  for (const FusedSource& s : sources) ones.push_back(s.kind == FusedSource::One);
  const auto plan = stages(ones);
  parallel_for(0, total, grain, [&](int64_t begin, int64_t end) { run_range(*plan, sources, results, begin, end); });
  return out;
}

double cost_of(const FusedStep& step) {
  static std::mutex mutex;
  static auto* const known = new std::unordered_map<const void*, double>();
  const void* key = reinterpret_cast<const void*>(step.loop);
  const std::lock_guard lock(mutex);
  if (const auto found = known->find(key); found != known->end()) return found->second;
  constexpr int64_t kElements = 1024;
  std::vector<float> memory(static_cast<size_t>(kElements) * 4 * kernels::kMaxOperands, 0.5f);
  char* data[kernels::kMaxOperands];
  int64_t strides[kernels::kMaxOperands];
  for (size_t i = 0; i <= step.inputs.size(); i++) {
    data[i] = reinterpret_cast<char*>(memory.data() + static_cast<int64_t>(i) * kElements * 4);
    strides[i] = static_cast<int64_t>(element_size(step.result));
  }
  double best = 1e9;
  for (int turn = 0; turn < 4; turn++) {
    const auto begin = std::chrono::steady_clock::now();
    step.loop(data, strides, kElements, step.params.data());
    best = std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  return (*known)[key] = best / kElements;
}

// ---- learning the loops of operators ------------------------------------------------------------------------------------------

namespace {
// A number of the call that became a tensor.
bool is_number(const Tensor& t) { return t.defined() && t.impl()->is_wrapped_number() && !t.lacks_data(); }
}  // namespace

void Probe::saw(const ops::PointwiseSight& sight) {
  if (count_++) return;
  result_ = sight.result.impl();
  if (sight.result.scalar_type() != sight.computed) fits_ = false;
  step_.loop = sight.loop;
  step_.result = sight.computed;
  step_.compute = sight.compute;
  step_.kernel = sight.op.kernel.name;
  if (sight.params) step_.params.assign(sight.params, sight.params + sight.op.kernel.num_params);
  for (size_t i = 0; i < sight.args.size(); i++) {
    const ops::Arg& arg = sight.args[i];
    FusedStep::Input input;
    if (arg.scalar || is_number(*arg.tensor)) {
      input.kind = FusedStep::Input::Number;
      ops::store_pointwise_number(input.cell, arg.scalar ? *arg.scalar : arg.tensor->item(), sight.compute);
    } else {
      input.kind = FusedStep::Input::Argument;
      const auto at = std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& t) { return t.impl() == arg.tensor->impl(); });
      const bool mask = static_cast<int>(i) == sight.op.mask;
      if (at == tensors_.end() || arg.tensor->scalar_type() != (mask ? ScalarType::Bool : sight.compute)) fits_ = false;
      else input.index = static_cast<int>(at - tensors_.begin());
    }
    step_.inputs.push_back(input);
  }
}

void Probe::saw(const ops::ReductionSight& sight) {
  const bool of_rows = sight.mask == uint64_t{1} << (sight.self.dim() - 1) && !tensors_.empty() && sight.self.data_ptr() == tensors_[0].data_ptr();
  if (count_++ == 0 && of_rows) reduction_ = sight.op;
  data_ = sight.result.data_ptr();
}

}  // namespace cresset::graph
