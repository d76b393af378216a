#pragma once
// Python's torch.nn.attention: which kernels may serve attention, causal masks, and attention whose scores and masks are functions.
// Include it by name: <cresset/nn/layers/attention.h>.

#include <array>
#include <cmath>
#include <functional>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cresset/base/warning.h"
#include "cresset/ops/sequence/attention_kernels.h"
#include "cresset/tensor.h"

namespace cresset::nn::attention {

// ---- kernels ---------------------------------------------------------------------------------------------------------------

// The kernels that may serve scaled_dot_product_attention; on the CPU one serves MATH and FLASH_ATTENTION.
enum class SDPBackend : int8_t { ERROR = -1, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE };

// Whether to warn on the error stream where no kernel may serve a call. Read when a scope begins.
inline bool WARN_FOR_UNFUSED_KERNELS = false;

// In its scope only these kernels may serve attention on this thread; with none that the CPU has, a call of it raises an error.
class sdpa_kernel {
 public:
  explicit sdpa_kernel(const std::vector<SDPBackend>& backends) {
    bool is_served = false;
    for (const SDPBackend b : backends) is_served = is_served || b == SDPBackend::MATH || b == SDPBackend::FLASH_ATTENTION;
    using ops::AttentionKernels;
    before_ = ops::set_attention_kernels(is_served ? AttentionKernels::all : WARN_FOR_UNFUSED_KERNELS ? AttentionKernels::none_warned : AttentionKernels::none);
  }
  explicit sdpa_kernel(SDPBackend backend) : sdpa_kernel(std::vector<SDPBackend>{backend}) {}
  ~sdpa_kernel() { ops::set_attention_kernels(before_); }
  sdpa_kernel(const sdpa_kernel&) = delete;
  sdpa_kernel& operator=(const sdpa_kernel&) = delete;

 private:
  ops::AttentionKernels before_;
};

// Puts an implementation of flash attention in place, and returns what takes it out of use again, or nothing.
using FlashAttentionImpl = std::function<std::function<void()>()>;

namespace detail {
struct FlashImpls {
  static std::function<void()> refuse(const char* package) {
    CRESSET_CHECK(false, package, " serves CUDA devices, and this build runs on the CPU");
    return {};
  }
  std::vector<std::pair<std::string, FlashAttentionImpl>> known = {{"FA3", [] { return refuse("flash_attn_interface"); }},
                                                                   {"FA4", [] { return refuse("flash_attn.cute.interface"); }}};
  std::string active;
  std::function<void()> remove;
};
inline FlashImpls& flash_impls() {
  static FlashImpls impls;
  return impls;
}
}  // namespace detail

inline void register_flash_attention_impl(const std::string& impl, FlashAttentionImpl register_fn) {
  for (auto& [name, function] : detail::flash_impls().known)
    if (name == impl) return void(function = std::move(register_fn));
  detail::flash_impls().known.emplace_back(impl, std::move(register_fn));
}
inline std::vector<std::string> list_flash_attention_impls() {
  std::vector<std::string> names;
  for (const auto& entry : detail::flash_impls().known) names.push_back(entry.first);
  return names;
}
// Empty: the one that is built in.
inline std::string current_flash_attention_impl() { return detail::flash_impls().active; }
inline void restore_flash_attention_impl() {
  auto& impls = detail::flash_impls();
  impls.active.clear();
  if (const auto remove = std::exchange(impls.remove, nullptr)) remove();
}
// Errors: a name that is not registered; whatever the implementation raises.
inline void activate_flash_attention_impl(const std::string& impl) {
  auto& impls = detail::flash_impls();
  if (impls.active == impl) return;
  for (const auto& [name, function] : impls.known) {
    if (name != impl) continue;
    auto remove = function();
    restore_flash_attention_impl();
    impls.active = impl;
    impls.remove = std::move(remove);
    return;
  }
  CRESSET_CHECK_VALUE(false, "Unknown flash attention impl \"", impl, "\"");
}

// ---- causal masks ----------------------------------------------------------------------------------------------------------

// Where the diagonal of a causal mask that is not square begins: at the first query and key, or at the last ones.
enum class CausalVariant : uint8_t { UPPER_LEFT = 1, LOWER_RIGHT = 2 };

// A mask that attention takes by its kind: nn::functional::scaled_dot_product_attention(query, key, value, causal_lower_right(q, kv)).
// Warns where LOWER_RIGHT leaves queries without keys.
class CausalBias {
 public:
  CausalBias(CausalVariant variant, int64_t seq_len_q, int64_t seq_len_kv) : variant(variant), seq_len_q(seq_len_q), seq_len_kv(seq_len_kv) {
    if (variant == CausalVariant::LOWER_RIGHT && seq_len_q > seq_len_kv)
      warn("causal_lower_right: rows without a key become NaN, since there are more queries than keys");
  }
  // (queries, keys), true where a query sees a key.
  Tensor to_tensor() const { return ones({seq_len_q, seq_len_kv}, kBool).tril(variant == CausalVariant::LOWER_RIGHT ? seq_len_kv - seq_len_q : 0); }

  CausalVariant variant;
  int64_t seq_len_q, seq_len_kv;
};
inline CausalBias causal_upper_left(int64_t seq_len_q, int64_t seq_len_kv) { return {CausalVariant::UPPER_LEFT, seq_len_q, seq_len_kv}; }
inline CausalBias causal_lower_right(int64_t seq_len_q, int64_t seq_len_kv) { return {CausalVariant::LOWER_RIGHT, seq_len_q, seq_len_kv}; }

// ---- functions of places ---------------------------------------------------------------------------------------------------

// True where a query sees a key. The arguments are numbers of batch, head, query and key for all places at once, which broadcast with each
// other: what is computed of them must work elementwise.
using MaskMod = std::function<Tensor(const Tensor& b, const Tensor& h, const Tensor& q_idx, const Tensor& kv_idx)>;
// The score (B, H, L, S) that takes the place of one.
using ScoreMod = std::function<Tensor(const Tensor& score, const Tensor& b, const Tensor& h, const Tensor& q_idx, const Tensor& kv_idx)>;

// The mask that hides nothing.
inline Tensor noop_mask(const Tensor& b, const Tensor&, const Tensor&, const Tensor&) { return ones({}, b.options().dtype(kBool)); }

// True where one of the masks is, or where all are.
inline MaskMod or_masks(std::vector<MaskMod> masks) {
  return [masks = std::move(masks)](const Tensor& b, const Tensor& h, const Tensor& q, const Tensor& kv) {
    Tensor result = zeros({}, b.options().dtype(kBool));
    for (const MaskMod& mask : masks) result = result.logical_or(mask(b, h, q, kv));
    return result;
  };
}
inline MaskMod and_masks(std::vector<MaskMod> masks) {
  return [masks = std::move(masks)](const Tensor& b, const Tensor& h, const Tensor& q, const Tensor& kv) {
    Tensor result = ones({}, b.options().dtype(kBool));
    for (const MaskMod& mask : masks) result = result.logical_and(mask(b, h, q, kv));
    return result;
  };
}

namespace detail {
// Numbers along a dimension each.
struct Places {
  Places(int64_t batch, int64_t heads, int64_t queries, int64_t keys, Device device)
      : b(numbers(batch, {batch, 1, 1, 1}, device)),
        h(numbers(heads, {heads, 1, 1}, device)),
        q(numbers(queries, {queries, 1}, device)),
        kv(numbers(keys, {keys}, device)),
        shape{batch, heads, queries, keys} {}
  static Tensor numbers(int64_t n, IntArrayRef shape, Device device) { return arange(n, TensorOptions(kInt).device(device)).view(shape); }
  Tensor b, h, q, kv;
  std::vector<int64_t> shape;
  Tensor of(const MaskMod& mask) const { return mask(b, h, q, kv).expand(shape); }
  Tensor of(const ScoreMod& score, const Tensor& scores) const { return score(scores, b, h, q, kv).expand(shape); }
};

// Of a map (..., rows, columns) of blocks the number in each row, and the columns: those that are there first, in their order.
inline std::pair<Tensor, Tensor> listed(const Tensor& blocks) {
  const Tensor there = blocks.to(kInt);
  return {there.sum(-1).to(kInt), argsort(there, true, -1, true).to(kInt)};
}
// The map of blocks that `listed` lists.
inline Tensor mapped(const Tensor& count, const Tensor& indices) {
  const Tensor is_listed = arange(indices.size(-1), TensorOptions(kLong).device(count.device())).lt(count.unsqueeze(-1));
  return zeros_like(indices).scatter(-1, indices.to(kLong), is_listed.to(kInt));
}
}  // namespace detail

// The values of a mask function, or of a function of scores, at all places: (B, H, Q_LEN, KV_LEN). Scores are asked what they hide of zeros.
inline Tensor create_mask(const MaskMod& mask_mod, int64_t B, int64_t H, int64_t Q_LEN, int64_t KV_LEN, Device device = kCPU) {
  return detail::Places(B, H, Q_LEN, KV_LEN, device).of(mask_mod).contiguous();
}
inline Tensor create_mask(const ScoreMod& score_mod, int64_t B, int64_t H, int64_t Q_LEN, int64_t KV_LEN, Device device = kCPU) {
  const detail::Places places(B, H, Q_LEN, KV_LEN, device);
  return places.of(score_mod, zeros(places.shape, device)).isneginf().logical_not();
}

// ---- masks as blocks -------------------------------------------------------------------------------------------------------

// A mask as the blocks of queries and keys in which it lets something through, and the function that tells what it does within them.
// kv_num_blocks (B, H, rows) and kv_indices (B, H, rows, columns) list, for each row of blocks, the columns of those that the function has to
// look into; full_* those that hide nothing (undefined: they are not listed apart). Names with q list rows for each column.
struct BlockMask {
  // The mask with these lists; the ones with q are computed. An empty seq_lengths stands for that of the blocks.
  static BlockMask from_kv_blocks(Tensor kv_num_blocks, Tensor kv_indices, Tensor full_kv_num_blocks = {}, Tensor full_kv_indices = {},
                                  std::array<int64_t, 2> block_size = {128, 128}, MaskMod mask_mod = noop_mask,
                                  std::optional<std::array<int64_t, 2>> seq_lengths = std::nullopt) {
    CRESSET_CHECK(kv_indices.dim() >= 2, "BlockMask: kv_indices must have at least 2 dimensions, got ", kv_indices.dim());
    CRESSET_CHECK_VALUE(full_kv_num_blocks.defined() == full_kv_indices.defined(), "full_kv_num_blocks and full_kv_indices go together, got one of them");
    BlockMask m;
    m.seq_lengths = seq_lengths.value_or(std::array<int64_t, 2>{kv_indices.size(-2) * block_size[0], kv_indices.size(-1) * block_size[1]});
    std::tie(m.q_num_blocks, m.q_indices) = detail::listed(detail::mapped(kv_num_blocks, kv_indices).transpose(-2, -1));
    if (full_kv_indices.defined())
      std::tie(m.full_q_num_blocks, m.full_q_indices) = detail::listed(detail::mapped(full_kv_num_blocks, full_kv_indices).transpose(-2, -1));
    m.kv_num_blocks = std::move(kv_num_blocks);
    m.kv_indices = std::move(kv_indices);
    m.full_kv_num_blocks = std::move(full_kv_num_blocks);
    m.full_kv_indices = std::move(full_kv_indices);
    m.block_size = block_size;
    m.mask_mod = std::move(mask_mod);
    return m;
  }

  // (B, H, queries, keys).
  std::vector<int64_t> shape() const {
    std::vector<int64_t> sizes(kv_indices.sizes().begin(), kv_indices.sizes().end() - 2);
    sizes.insert(sizes.end(), seq_lengths.begin(), seq_lengths.end());
    return sizes;
  }
  int64_t numel() const {
    int64_t n = 1;
    for (const int64_t size : shape()) n *= size;
    return n;
  }
  // The map of blocks (B, H, rows, columns): 1 for those that are computed.
  Tensor to_dense() const {
    const Tensor blocks = detail::mapped(kv_num_blocks, kv_indices);
    return full_kv_indices.defined() ? blocks.bitwise_or(detail::mapped(full_kv_num_blocks, full_kv_indices)) : blocks;
  }
  // The percentage of places that lie in no block which is computed.
  double sparsity() const {
    int64_t count = kv_num_blocks.sum().item<int64_t>();
    if (full_kv_indices.defined()) count += full_kv_num_blocks.sum().item<int64_t>();
    return 100 * (1 - static_cast<double>(count * block_size[0] * block_size[1]) / static_cast<double>(numel()));
  }
  // The same mask with its tensors on a device.
  BlockMask to(Device device) const {
    BlockMask moved = *this;
    for (Tensor* t : {&moved.kv_num_blocks, &moved.kv_indices, &moved.full_kv_num_blocks, &moved.full_kv_indices, &moved.q_num_blocks, &moved.q_indices,
                      &moved.full_q_num_blocks, &moved.full_q_indices})
      if (t->defined()) *t = t->to(device);
    return moved;
  }
  // The mask of one batch and head; its function cannot be used any more.
  BlockMask select(int64_t batch, int64_t head) const {
    const auto part = [&](const Tensor& t) { return t.defined() ? t.narrow(0, batch, 1).narrow(1, head, 1) : t; };
    const MaskMod none = [](const Tensor&, const Tensor&, const Tensor&, const Tensor&) -> Tensor {
      CRESSET_CHECK(false, "the mask_mod of a slice of a BlockMask cannot be called");
      return {};
    };
    return from_kv_blocks(part(kv_num_blocks), part(kv_indices), part(full_kv_num_blocks), part(full_kv_indices), block_size, none, seq_lengths);
  }
  // The mask of fewer queries and keys, from the upper left. Errors: more of them.
  BlockMask adjust(int64_t new_q_len, int64_t new_kv_len) const {
    const int64_t rows = (new_q_len + block_size[0] - 1) / block_size[0], columns = (new_kv_len + block_size[1] - 1) / block_size[1];
    CRESSET_CHECK_VALUE(rows <= kv_indices.size(-2) && columns <= kv_indices.size(-1), "BlockMask: cannot grow to ", new_q_len, " queries and ", new_kv_len,
                        " keys");
    const auto cut = [&](const Tensor& count, const Tensor& indices) {
      return indices.defined() ? detail::listed(detail::mapped(count, indices).narrow(-2, 0, rows).narrow(-1, 0, columns)) : std::pair<Tensor, Tensor>();
    };
    auto partial = cut(kv_num_blocks, kv_indices), full = cut(full_kv_num_blocks, full_kv_indices);
    return from_kv_blocks(partial.first, partial.second, full.first, full.second, block_size, mask_mod, std::array<int64_t, 2>{new_q_len, new_kv_len});
  }

  std::array<int64_t, 2> seq_lengths{};
  Tensor kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices, full_q_num_blocks, full_q_indices;
  std::array<int64_t, 2> block_size{};
  MaskMod mask_mod;
};

// The blocks of a mask given as a function. B or H of 1: the same for all. separate_full_blocks: those that hide nothing are listed apart.
inline BlockMask create_block_mask(const MaskMod& mask_mod, int64_t B, int64_t H, int64_t Q_LEN, int64_t KV_LEN, Device device = kCPU,
                                   std::array<int64_t, 2> block_size = {128, 128}, bool separate_full_blocks = true) {
  const auto [rows, columns] = block_size;
  Tensor mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device);
  CRESSET_CHECK_TYPE(mask.scalar_type() == kBool, "create_block_mask: the mask must be bool, got ", mask.scalar_type());
  mask = constant_pad_nd(mask, {0, (columns - KV_LEN % columns) % columns, 0, (rows - Q_LEN % rows) % rows});
  const Tensor seen = mask.view({B, H, mask.size(2) / rows, rows, mask.size(3) / columns, columns}).sum({-3, -1});
  const Tensor full = separate_full_blocks ? seen.eq(rows * columns) : zeros_like(seen, kBool);
  const auto partial = detail::listed(seen.gt(0).logical_and(full.logical_not()));
  const auto whole = separate_full_blocks ? detail::listed(full) : std::pair<Tensor, Tensor>();
  return BlockMask::from_kv_blocks(partial.first, partial.second, whole.first, whole.second, block_size, mask_mod, std::array<int64_t, 2>{Q_LEN, KV_LEN});
}

// ---- attention -------------------------------------------------------------------------------------------------------------

// Results of flex_attention beside its output: (B, Hq, L) each, undefined where it was not asked for.
struct AuxRequest {
  bool lse = false, max_scores = false;
};
struct AuxOutput {
  Tensor lse, max_scores;
};
struct FlexAttentionOptions {
  ScoreMod score_mod = nullptr;
  std::optional<BlockMask> block_mask = std::nullopt;
  // 1/sqrt(E) by default.
  std::optional<double> scale = std::nullopt;
  // Whether several heads of the query may share one of key and value.
  bool enable_gqa = false;
};

namespace detail {
inline void check_flex(const Tensor& query, const Tensor& key, const Tensor& value, const FlexAttentionOptions& o) {
  CRESSET_CHECK_NOT_IMPLEMENTED(query.dim() == 4 && key.dim() == 4 && value.dim() == 4, "expected query, key and value of 4 dimensions");
  CRESSET_CHECK_VALUE(query.size(3) == key.size(3), "expected one embedding size in query and key, got E=", query.size(3), " and E=", key.size(3));
  CRESSET_CHECK_VALUE(value.sizes().slice(0, 3) == key.sizes().slice(0, 3), "Expect key and value to agree but for their last dimension, got ", key.sizes(),
                      " and ", value.sizes());
  CRESSET_CHECK_VALUE(o.enable_gqa || query.size(1) == key.size(1),
                      "expected as many heads in query as in key and value (or enable_gqa=True), got Hq=", query.size(1), " and Hkv=", key.size(1),
                      ". Try setting enable_gqa for GQA.");
  CRESSET_CHECK_VALUE(query.size(1) % key.size(1) == 0, "enable_gqa: expected a multiple of the key's heads in query, got Hq=", query.size(1),
                      " and Hkv=", key.size(1));
  if (!o.block_mask) {
    CRESSET_CHECK_VALUE(query.size(0) == key.size(0), "flex_attention: expected query and key of one batch size, got ", query.size(0), " and ", key.size(0));
    return;
  }
  const BlockMask& mask = *o.block_mask;
  CRESSET_CHECK_VALUE(query.size(0) == key.size(0) || (mask.kv_num_blocks.size(0) == query.size(0) && key.size(0) == 1),
                      "flex_attention: expected query and key, or query and block_mask, of one batch size");
  CRESSET_CHECK_VALUE(mask.seq_lengths[0] == query.size(2) && mask.seq_lengths[1] == key.size(2), "block_mask was created for ", mask.seq_lengths[0],
                      " queries and ", mask.seq_lengths[1], " keys but got q_len=", query.size(2), " and kv_len=", key.size(2),
                      "; create a new one, or crop a larger one with adjust()");
}
// Where a mask lets a query see a key: everywhere in full blocks, where the function says so in the others that are listed.
inline Tensor visible(const BlockMask& mask, const Places& places) {
  const auto spread = [&](const Tensor& blocks) {
    const Tensor wide = blocks.to(kBool).repeat_interleave(mask.block_size[0], -2).repeat_interleave(mask.block_size[1], -1);
    return wide.narrow(-2, 0, places.shape[2]).narrow(-1, 0, places.shape[3]);
  };
  const Tensor seen = places.of(mask.mask_mod).logical_and(spread(mapped(mask.kv_num_blocks, mask.kv_indices)));
  return mask.full_kv_indices.defined() ? seen.logical_or(spread(mapped(mask.full_kv_num_blocks, mask.full_kv_indices))) : seen;
}
}  // namespace detail

// softmax(score_mod(query @ key.mT * scale)) @ value over the keys that the mask lets be seen: query (B, Hq, L, E), key (B, Hkv, S, E), value
// (B, Hkv, S, Ev), result (B, Hq, L, Ev). Queries that see nothing give zeros. score_mod is called once, with all scores.
inline std::pair<Tensor, AuxOutput> flex_attention(const Tensor& query, const Tensor& key, const Tensor& value, const FlexAttentionOptions& options,
                                                   const AuxRequest& aux) {
  detail::check_flex(query, key, value, options);
  const int64_t groups = query.size(1) / key.size(1);
  const Tensor k = groups > 1 ? key.repeat_interleave(groups, 1) : key, v = groups > 1 ? value.repeat_interleave(groups, 1) : value;
  const ScalarType work = promote_types(query.scalar_type(), kFloat);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3))));
  Tensor scores = query.to(work).matmul(k.to(work).transpose(-2, -1)) * scale;
  const detail::Places places(query.size(0), query.size(1), query.size(2), key.size(2), query.device());
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  if (options.score_mod) scores = places.of(options.score_mod, scores).to(work);
  if (options.block_mask) scores = scores.masked_fill(detail::visible(*options.block_mask, places).logical_not(), kHidden);
  const Tensor highest = key.size(2) ? scores.detach().amax({-1}, true) : full({query.size(0), query.size(1), query.size(2), 1}, kHidden, scores.options());
  const Tensor weights = (scores - highest.masked_fill(highest.isneginf(), 0)).exp();
  Tensor total = weights.sum({-1}, true);
  total = total.masked_fill(total.eq(0), 1);
  const Tensor out = (weights.matmul(v.to(work)) / total).to(query.scalar_type());
  return {out, {aux.lse ? (highest + total.log()).squeeze(-1) : Tensor(), aux.max_scores ? highest.squeeze(-1) : Tensor()}};
}
inline Tensor flex_attention(const Tensor& query, const Tensor& key, const Tensor& value, const FlexAttentionOptions& options = {}) {
  return flex_attention(query, key, value, options, AuxRequest()).first;
}

}  // namespace cresset::nn::attention

namespace cresset::nn::functional {

// Attention under a causal mask.
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const attention::CausalBias& mask,
                                           double dropout_p = 0.0, std::optional<double> scale = std::nullopt, bool enable_gqa = false) {
  if (mask.seq_len_q == mask.seq_len_kv || mask.variant == attention::CausalVariant::UPPER_LEFT)
    return cresset::scaled_dot_product_attention(query, key, value, std::nullopt, dropout_p, true, scale, enable_gqa);
  return cresset::scaled_dot_product_attention(query, key, value, mask.to_tensor(), dropout_p, false, scale, enable_gqa);
}

}  // namespace cresset::nn::functional
