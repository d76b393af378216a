// Convolutions by oneDNN behind the table of kernels/providers/onednn.h. Part of libcresset_onednn.so alone.

#include <omp.h>

#include <atomic>
#include <dnnl.hpp>
#include <list>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/providers/onednn.h"

namespace cresset::kernels {

namespace {

using dnnl::memory;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  thread_local dnnl::stream stream(cpu());
  return stream;
}

// oneDNN decides on the number of OpenMP threads when a primitive is made and again when it runs: always one.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_;
};

// Work memory of this thread, grown and kept: one block for each role in a run.
enum Role { kFirst, kSecond, kResult, kScratchpad, kRoles };
void* work_memory(Role role, size_t bytes) {
  struct Block {
    void* data = nullptr;
    size_t bytes = 0;
    ~Block() { free_work(data); }
  };
  thread_local Block blocks[kRoles];
  Block& block = blocks[role];
  if (block.bytes < bytes) {
    free_work(block.data);
    block.data = nullptr;
    block.bytes = 0;
    block.data = allocate_work(bytes);
    block.bytes = bytes;
  }
  return block.data;
}

memory::data_type data_type(ScalarType t) { return t == ScalarType::Float ? memory::data_type::f32 : memory::data_type::bf16; }

// The first part, of these sizes, of a dense tensor of sizes `whole`.
memory::desc part(const memory::dims& sizes, const memory::dims& whole, memory::data_type type) {
  memory::dims strides(sizes.size());
  memory::dim step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= whole[i];
  }
  return memory::desc(sizes, type, strides);
}

memory::desc dense(const memory::dims& sizes, memory::data_type type) { return part(sizes, sizes, type); }

memory::desc any(const memory::dims& sizes, memory::data_type type) { return memory::desc(sizes, type, memory::format_tag::any); }

// A tensor of the convolution: as the caller has it, as the primitive wants it, and the copy from one to the other if they differ.
struct Operand {
  memory::desc outside, inside;
  dnnl::reorder copy;

  bool same() const { return outside == inside; }
  void copy_in() {
    if (!same()) copy = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), outside, cpu(), inside));
  }
  void copy_out() {
    if (!same()) copy = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), inside, cpu(), outside));
  }
  // The operand in the primitive's order, in memory of its own or of the caller's.
  memory read(const void* data, Role role) const { return same() ? packed(data) : pack(data, work_memory(role, inside.get_size())); }
  memory packed(const void* data) const { return memory(inside, cpu(), const_cast<void*>(data)); }
  memory pack(const void* data, void* to) const {
    memory given(outside, cpu(), const_cast<void*>(data)), inner(inside, cpu(), to);
    copy.execute(stream(), given, inner);
    return inner;
  }
  memory target(void* data) const { return memory(inside, cpu(), same() ? data : work_memory(kResult, inside.get_size())); }
  void write(memory& inner, void* data) const {
    if (same()) return;
    memory given(outside, cpu(), data);
    copy.execute(stream(), inner, given);
  }
};

struct Plan {
  ConvKind kind;
  dnnl::primitive primitive;
  Operand first, second, result;  // of run(); `second` of forward and backward_input is the packed weights
  memory::desc bias, scratchpad;
  bool has_bias = false, grouped = false;
  mutable std::atomic<int> users{1};

  Plan(ConvKind kind_, ScalarType dtype, const ConvParams& p, bool with_bias) : kind(kind_), has_bias(with_bias), grouped(p.groups > 1) {
    const auto type = data_type(dtype);
    memory::dims src{p.batch, p.in_channels}, dst{p.batch, p.out_channels}, weights{p.out_channels / p.groups, p.in_channels / p.groups};
    memory::dims strides, dilates, padding;
    if (p.groups > 1) weights.insert(weights.begin(), p.groups);
    for (int d = 0; d < p.dims; d++) {
      src.push_back(p.input[d]);
      dst.push_back(p.output(d));
      weights.push_back(p.kernel[d]);
      strides.push_back(p.stride[d]);
      dilates.push_back(p.dilation[d] - 1);
      padding.push_back(p.padding[d]);
    }
    const auto direct = dnnl::algorithm::convolution_direct;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    bias = with_bias ? memory::desc({p.out_channels}, memory::data_type::f32, memory::format_tag::a) : memory::desc();
    using Forward = dnnl::convolution_forward;
    const Forward::primitive_desc forward(
        Forward::desc(dnnl::prop_kind::forward_training, direct, any(src, type), any(weights, type), bias, any(dst, type), strides, dilates, padding, padding),
        attributes, cpu());
    if (kind == ConvKind::forward) {
      primitive = Forward(forward);
      scratchpad = forward.scratchpad_desc();
      first = {dense(src, type), forward.src_desc(), {}};
      second = {dense(weights, type), forward.weights_desc(), {}};
      result = {dense(dst, type), forward.dst_desc(), {}};
    } else if (kind == ConvKind::backward_input) {
      using Backward = dnnl::convolution_backward_data;
      const Backward::primitive_desc backward(Backward::desc(direct, any(src, type), any(weights, type), any(dst, type), strides, dilates, padding, padding),
                                              attributes, cpu(), forward);
      primitive = Backward(backward);
      scratchpad = backward.scratchpad_desc();
      first = {dense(dst, type), backward.diff_dst_desc(), {}};
      second = {dense(weights, type), backward.weights_desc(), {}};
      result = {dense(src, type), backward.diff_src_desc(), {}};
    } else {
      using Backward = dnnl::convolution_backward_weights;
      const auto f32 = memory::data_type::f32;
      const Backward::primitive_desc backward(
          Backward::desc(direct, any(src, type), any(weights, f32), bias, any(dst, type), strides, dilates, padding, padding), attributes, cpu(), forward);
      primitive = Backward(backward);
      scratchpad = backward.scratchpad_desc();
      first = {dense(src, type), backward.src_desc(), {}};
      second = {dense(dst, type), backward.diff_dst_desc(), {}};
      result = {dense(weights, f32), backward.diff_weights_desc(), {}};
    }
    first.copy_in();
    second.copy_in();
    result.copy_out();
  }

  void pack_weights(const void* weights, int64_t channels, void* packed) const {
    const memory::dims sizes = second.outside.dims();
    memory::dims whole = sizes;
    whole[grouped ? 2 : 1] = channels;
    memory from(part(sizes, whole, second.outside.data_type()), cpu(), const_cast<void*>(weights)), to(second.inside, cpu(), packed);
    dnnl::reorder(from, to).execute(stream(), from, to);
  }

  void run(bool packed, const void* first_data, const void* second_data, void* bias_data, void* result_data) const {
    std::unordered_map<int, memory> arguments;
    memory out = result.target(result_data);
    const memory in = packed ? first.packed(first_data) : first.read(first_data, kFirst);
    if (kind == ConvKind::backward_weight) {
      arguments = {{DNNL_ARG_SRC, in}, {DNNL_ARG_DIFF_DST, second.read(second_data, kSecond)}, {DNNL_ARG_DIFF_WEIGHTS, out}};
      if (has_bias) arguments.emplace(DNNL_ARG_DIFF_BIAS, memory(bias, cpu(), bias_data));
    } else {
      const memory weights(second.inside, cpu(), const_cast<void*>(second_data));
      const bool forward = kind == ConvKind::forward;
      arguments = {{forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, in}, {DNNL_ARG_WEIGHTS, weights}, {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC, out}};
      if (has_bias) arguments.emplace(DNNL_ARG_BIAS, memory(bias, cpu(), bias_data));
    }
    arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratchpad, cpu(), work_memory(kScratchpad, scratchpad.get_size())));
    primitive.execute(stream(), arguments);
    result.write(out, result_data);
  }
};

void give_back(const Plan* plan) {
  if (plan->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete plan;
}

using Key = std::tuple<int, int, bool, int, std::vector<int64_t>>;

Key make_key(ConvKind kind, ScalarType dtype, const ConvParams& p, bool bias) {
  std::vector<int64_t> sizes{p.batch, p.in_channels, p.out_channels, p.groups};
  for (int d = 0; d < p.dims; d++) sizes.insert(sizes.end(), {p.input[d], p.kernel[d], p.stride[d], p.padding[d], p.dilation[d]});
  return {static_cast<int>(kind), static_cast<int>(dtype), bias, p.dims, std::move(sizes)};
}

// The plans used last; a null plan records that oneDNN has none. Evicted plans live on until their last user gives them back.
class PlanCache {
 public:
  const Plan* get(ConvKind kind, ScalarType dtype, const ConvParams& p, bool bias) {
    const Key key = make_key(kind, dtype, p, bias);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (const auto found = index_.find(key); found != index_.end()) {
        order_.splice(order_.begin(), order_, found->second);
        return use(order_.front().second);
      }
    }
    const Plan* plan = make(kind, dtype, p, bias);
    std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      if (plan) give_back(plan);
      return use(found->second->second);
    }
    order_.emplace_front(key, plan);
    index_[key] = order_.begin();
    if (order_.size() > kMost) {
      if (order_.back().second) give_back(order_.back().second);
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return use(plan);
  }

 private:
  static constexpr size_t kMost = 512;

  static const Plan* make(ConvKind kind, ScalarType dtype, const ConvParams& p, bool bias) {
    try {
      return new Plan(kind, dtype, p, bias);
    } catch (const dnnl::error&) { return nullptr; }
  }
  static const Plan* use(const Plan* plan) {
    if (plan) plan->users.fetch_add(1, std::memory_order_relaxed);
    return plan;
  }

  std::mutex mutex_;
  std::list<std::pair<Key, const Plan*>> order_;
  std::map<Key, std::list<std::pair<Key, const Plan*>>::iterator> index_;
};

PlanCache& cache() {
  static PlanCache* plans = new PlanCache;  // outlives the threads that may still run at exit
  return *plans;
}

const Plan& as_plan(const void* plan) { return *static_cast<const Plan*>(plan); }

constexpr OnednnTable kTable = {
    kOnednnAbi,
    [](ConvKind kind, ScalarType dtype, const ConvParams* params, bool bias) -> const void* {
      const OneThread one;
      return cache().get(kind, dtype, *params, bias);
    },
    [](const void* plan) { give_back(&as_plan(plan)); },
    [](const void* plan) { return as_plan(plan).second.inside.get_size(); },
    [](const void* plan, const void* weights, int64_t channels, void* packed) {
      const OneThread one;
      as_plan(plan).pack_weights(weights, channels, packed);
    },
    [](const void* plan) -> size_t {
      const Operand& operand = as_plan(plan).first;
      return operand.same() ? 0 : operand.inside.get_size();
    },
    [](const void* plan, const void* first, void* packed) {
      const OneThread one;
      as_plan(plan).first.pack(first, packed);
    },
    [](const void* plan, bool packed, const void* first, const void* second, void* bias, void* result) {
      const OneThread one;
      as_plan(plan).run(packed, first, second, bias, result);
    },
};

}  // namespace

}  // namespace cresset::kernels

extern "C" CRESSET_API const cresset::kernels::OnednnTable* cresset_onednn_table() { return &cresset::kernels::kTable; }
