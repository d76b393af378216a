// Attention over tiles of queries and keys: products by gemm, running softmax by kernels/sequence/cpu/attention.h.
// Dao et al., FlashAttention-2 (2023), algorithms 1 and 2.

#include "cresset/kernels/sequence/attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/gemm/gemm.h"
#include "cresset/kernels/layout/cpu/convert.h"
#include "cresset/kernels/sequence/cpu/attention.h"

namespace cresset::kernels {

namespace {

constexpr int64_t kQueries = 64, kKeys = 512;

// A matrix of one batch and head in the dtype of the products.
struct Matrix {
  const char* data;
  int64_t stride;  // elements
};

class Attention {
 public:
  explicit Attention(const AttentionShape& shape)
      : s_(shape),
        compute_(shape.dtype == ScalarType::Double ? ScalarType::Double : ScalarType::Float),
        item_(static_cast<int64_t>(element_size(compute_))),
        stored_item_(static_cast<int64_t>(element_size(shape.dtype))) {}

 protected:
  using Buffer = std::vector<char>;

  // Rows of head h from row `first`; converted into `buffer` where the products do not take the dtype.
  Matrix rows(const AttentionInput& t, int64_t b, int64_t h, int64_t first, int64_t count, int64_t width, Buffer& buffer) const {
    const char* from = t.data + b * t.strides[0] + h * t.strides[1] + first * t.strides[2];
    if (s_.dtype == compute_ && t.strides[2] % stored_item_ == 0 && t.strides[2] >= width * stored_item_) return {from, t.strides[2] / stored_item_};
    buffer.resize(static_cast<size_t>(count * width * item_));
    for (int64_t i = 0; i < count; i++) convert(buffer.data() + i * width * item_, compute_, from + i * t.strides[2], s_.dtype, width);
    return {buffer.data(), width};
  }
  void write_rows(const AttentionOutput& t, int64_t b, int64_t h, int64_t first, int64_t count, int64_t width, const char* from) const {
    if (!t.data) return;
    for (int64_t i = 0; i < count; i++)
      convert(t.data + b * t.strides[0] + h * t.strides[1] + (first + i) * t.strides[2], s_.dtype, from + i * width * item_, compute_, width);
  }
  static void convert(char* to, ScalarType to_dtype, const char* from, ScalarType from_dtype, int64_t n) {
    converter(from_dtype, to_dtype)(to, static_cast<int64_t>(element_size(to_dtype)), from, static_cast<int64_t>(element_size(from_dtype)), n);
  }

  // c = scale * op(a) op(b) + (add ? c : 0).
  void product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double scale, Matrix a, Matrix b, bool add, char* c, int64_t ldc) const {
    if (m > 0 && n > 0) gemm(compute_, trans_a, trans_b, m, n, k, scale, a.data, a.stride, b.data, b.stride, add ? 1.0 : 0.0, c, ldc);
  }

  AttentionTile tile(char* scores, int64_t b, int64_t h, int64_t query, int64_t rows, int64_t key, int64_t columns) const {
    AttentionTile t;
    t.dtype = compute_;
    t.scores = scores;
    t.rows = rows;
    t.columns = columns;
    t.stride = kKeys;
    t.causal_end = s_.causal ? query - key : s_.kv_len;
    t.mask = s_.mask ? s_.mask + b * s_.mask_strides[0] + h * s_.mask_strides[1] + query * s_.mask_strides[2] + key * s_.mask_strides[3] : nullptr;
    t.mask_dtype = s_.mask_dtype;
    t.mask_row = s_.mask_strides[2];
    t.mask_column = s_.mask_strides[3];
    return t;
  }
  // Keys that the queries before `query_end` may see.
  int64_t keys_before(int64_t query_end) const { return s_.causal ? std::min(s_.kv_len, query_end) : s_.kv_len; }
  int64_t lse_offset(int64_t b, int64_t h, int64_t i) const { return ((b * s_.q_heads + h) * s_.q_len + i) * item_; }

  const AttentionShape& s_;
  const ScalarType compute_;
  const int64_t item_, stored_item_;
};

class Forward : Attention {
 public:
  Forward(const AttentionShape& shape, const AttentionInput& q, const AttentionInput& k, const AttentionInput& v, const AttentionOutput& out, char* lse)
      : Attention(shape), q_(q), k_(k), v_(v), out_(out), lse_(lse) {}

  void run() {
    const int64_t tiles = (s_.q_len + kQueries - 1) / kQueries;
    parallel_for(0, s_.batch * s_.q_heads * tiles, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) block(i / tiles / s_.q_heads, i / tiles % s_.q_heads, i % tiles * kQueries);
    });
  }

 private:
  void block(int64_t b, int64_t h, int64_t query) {
    struct Work {
      Buffer q_buffer, k_buffer, v_buffer, scores, values, max, sum;
    };
    auto& [q_buffer, k_buffer, v_buffer, scores, values, max, sum] = thread_work<Work>();
    const int64_t rows_here = std::min(kQueries, s_.q_len - query), kv_head = h / (s_.q_heads / s_.kv_heads);
    scores.resize(static_cast<size_t>(kQueries * kKeys * item_));
    values.assign(static_cast<size_t>(rows_here * s_.v_dim * item_), 0);
    max.resize(static_cast<size_t>(kQueries * item_));
    sum.assign(static_cast<size_t>(kQueries * item_), 0);
    fill_lowest(max);
    const AttentionState state{max.data(), sum.data(), values.data(), s_.v_dim};
    const Matrix q = rows(q_, b, h, query, rows_here, s_.head_dim, q_buffer);
    const int64_t keys = keys_before(query + rows_here);
    for (int64_t key = 0; key < keys; key += kKeys) {
      const int64_t columns = std::min(kKeys, keys - key);
      const Matrix k = rows(k_, b, kv_head, key, columns, s_.head_dim, k_buffer);
      product(false, true, rows_here, columns, s_.head_dim, s_.scale, q, k, false, scores.data(), kKeys);
      call(attention_softmax_stub)(tile(scores.data(), b, h, query, rows_here, key, columns), state);
      const Matrix v = rows(v_, b, kv_head, key, columns, s_.v_dim, v_buffer);
      product(false, false, rows_here, s_.v_dim, columns, 1, {scores.data(), kKeys}, v, true, values.data(), s_.v_dim);
    }
    call(attention_finish_stub)(compute_, rows_here, state, lse_ ? lse_ + lse_offset(b, h, query) : nullptr);
    write_rows(out_, b, h, query, rows_here, s_.v_dim, values.data());
  }
  void fill_lowest(Buffer& buffer) const {
    if (compute_ == ScalarType::Double) std::fill_n(reinterpret_cast<double*>(buffer.data()), kQueries, -std::numeric_limits<double>::infinity());
    else std::fill_n(reinterpret_cast<float*>(buffer.data()), kQueries, -std::numeric_limits<float>::infinity());
  }

  const AttentionInput &q_, &k_, &v_;
  const AttentionOutput& out_;
  char* const lse_;
};

struct Gradients {
  const AttentionInput &dout, &q, &k, &v, &out;
  const char* lse;
  const AttentionOutput &dq, &dk, &dv;
};

// One task for each batch and key head, so that no two add to the same rows.
class Backward : Attention {
 public:
  Backward(const AttentionShape& shape, const Gradients& g) : Attention(shape), g_(g) {}

  void run() {
    parallel_for(0, s_.batch * s_.kv_heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) head(i / s_.kv_heads, i % s_.kv_heads);
    });
  }

 private:
  void head(int64_t b, int64_t kv_head) {
    struct Work {
      Buffer k_buffer, v_buffer, dk, dv;
    };
    auto& [k_buffer, v_buffer, dk, dv] = thread_work<Work>();
    const Matrix k = rows(g_.k, b, kv_head, 0, s_.kv_len, s_.head_dim, k_buffer), v = rows(g_.v, b, kv_head, 0, s_.kv_len, s_.v_dim, v_buffer);
    dk.assign(static_cast<size_t>(s_.kv_len * s_.head_dim * item_), 0);
    dv.assign(static_cast<size_t>(s_.kv_len * s_.v_dim * item_), 0);
    const int64_t group = s_.q_heads / s_.kv_heads;
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; h++)
      for (int64_t query = 0; query < s_.q_len; query += kQueries) block(b, h, query, k, v, dk.data(), dv.data());
    write_rows(g_.dk, b, kv_head, 0, s_.kv_len, s_.head_dim, dk.data());
    write_rows(g_.dv, b, kv_head, 0, s_.kv_len, s_.v_dim, dv.data());
  }

  void block(int64_t b, int64_t h, int64_t query, Matrix k, Matrix v, char* dk, char* dv) {
    struct Work {
      Buffer q_buffer, dout_buffer, out_buffer, weights, gradients, dq, delta;
    };
    auto& [q_buffer, dout_buffer, out_buffer, weights, gradients, dq, delta] = thread_work<Work>();
    const int64_t rows_here = std::min(kQueries, s_.q_len - query);
    const size_t tile_bytes = static_cast<size_t>(kQueries * kKeys * item_);
    weights.resize(tile_bytes);
    gradients.resize(tile_bytes);
    dq.assign(static_cast<size_t>(rows_here * s_.head_dim * item_), 0);
    delta.resize(static_cast<size_t>(kQueries * item_));
    const Matrix q = rows(g_.q, b, h, query, rows_here, s_.head_dim, q_buffer), dout = rows(g_.dout, b, h, query, rows_here, s_.v_dim, dout_buffer),
                 out = rows(g_.out, b, h, query, rows_here, s_.v_dim, out_buffer);
    call(attention_delta_stub)(compute_, dout.data, dout.stride, out.data, out.stride, rows_here, s_.v_dim, delta.data());
    const int64_t keys = keys_before(query + rows_here);
    for (int64_t key = 0; key < keys; key += kKeys) {
      const int64_t columns = std::min(kKeys, keys - key);
      const Matrix k_here{k.data + key * k.stride * item_, k.stride}, v_here{v.data + key * v.stride * item_, v.stride};
      const Matrix p{weights.data(), kKeys};
      product(false, true, rows_here, columns, s_.head_dim, s_.scale, q, k_here, false, weights.data(), kKeys);
      const AttentionTile t = tile(weights.data(), b, h, query, rows_here, key, columns);
      call(attention_weights_stub)(t, g_.lse + lse_offset(b, h, query));
      product(true, false, columns, s_.v_dim, rows_here, 1, p, dout, true, dv + key * s_.v_dim * item_, s_.v_dim);
      product(false, true, rows_here, columns, s_.v_dim, 1, dout, v_here, false, gradients.data(), kKeys);
      call(attention_score_gradients_stub)(t, gradients.data(), delta.data(), s_.scale);
      product(false, false, rows_here, s_.head_dim, columns, 1, p, k_here, true, dq.data(), s_.head_dim);
      product(true, false, columns, s_.head_dim, rows_here, 1, p, q, true, dk + key * s_.head_dim * item_, s_.head_dim);
    }
    write_rows(g_.dq, b, h, query, rows_here, s_.head_dim, dq.data());
  }

  const Gradients& g_;
};

}  // namespace

void attention(const AttentionShape& s, AttentionInput q, AttentionInput k, AttentionInput v, AttentionOutput out, char* lse) {
  Forward(s, q, k, v, out, lse).run();
}

void attention_backward(const AttentionShape& s, AttentionInput dout, AttentionInput q, AttentionInput k, AttentionInput v, AttentionInput out, const char* lse,
                        AttentionOutput dq, AttentionOutput dk, AttentionOutput dv) {
  const Gradients g{dout, q, k, v, out, lse, dq, dk, dv};
  Backward(s, g).run();
}

}  // namespace cresset::kernels
