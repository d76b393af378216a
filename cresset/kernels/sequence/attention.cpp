// Attention over tiles of queries and keys, so that no matrix of all scores exists: products by gemm, softmax by kernels/sequence/cpu/attention.h.
// Dao et al., FlashAttention-2 (2023), algorithms 1 and 2. Scores are strips (kernels/gemm/cpu/gemm_strip.h): a row for each key, a column for
// each query. Their softmax needs no sums across lanes, and as they are they go into the products that follow. Keys and values are packed once for
// all queries of a head.

#include "cresset/kernels/sequence/attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/gemm/cpu/gemm.h"
#include "cresset/kernels/gemm/gemm.h"
#include "cresset/kernels/layout/cpu/convert.h"
#include "cresset/kernels/sequence/cpu/attention.h"

namespace cresset::kernels {

namespace {

// Keys of a strip, whose scores stay in the second-level cache. Up to kFewQueries, most columns of a strip would be empty.
constexpr int64_t kKeys = 256, kFewQueries = 8, kTileKeys = 512;
// Work of a task below which a second thread does not pay.
constexpr double kGrainFlops = 1e6;

// Work memory that is kept, aligned to vectors.
template <class T> class Buffer {
 public:
  T* get(int64_t count) {
    const size_t wanted = static_cast<size_t>(count) + 2 * kAlign;
    if (elements_.size() < wanted) elements_.resize(wanted);
    const auto address = reinterpret_cast<uintptr_t>(elements_.data());
    return elements_.data() + (kAlign * sizeof(T) - address % (kAlign * sizeof(T))) % (kAlign * sizeof(T)) / sizeof(T);
  }
  T* filled(int64_t count, T value) {
    T* const at = get(count);
    std::fill_n(at, count, value);
    return at;
  }

 private:
  static constexpr size_t kAlign = 64 / sizeof(T);  // packing may write as much beyond
  std::vector<T> elements_;
};

// A matrix of one batch and head in the dtype of the products, rows `stride` elements apart.
template <class T> struct Matrix {
  const T* data;
  int64_t stride;
  Matrix from(int64_t row) const { return {data + row * stride, stride}; }
};

template <class T, class F, class D> auto stub_of(F const (&single)[3], D const (&twice)[3]) {
  if constexpr (std::is_same_v<T, float>) return call(single);
  else return call(twice);
}

template <class T> class Attention {
 public:
  explicit Attention(const AttentionShape& shape) : s_(shape), width_(stub_of<T>(gemm_strip_width_float_stub, gemm_strip_width_double_stub)()) {}

 protected:
  static constexpr ScalarType kCompute = dtype_of<T>;
  static constexpr T kLowest = -std::numeric_limits<T>::infinity();

  // Rows of head h from row `first`; converted into `buffer` where the products do not take them as they are.
  Matrix<T> rows(const AttentionInput& t, int64_t b, int64_t h, int64_t first, int64_t count, int64_t width, Buffer<T>& buffer) const {
    const char* from = t.data + b * t.strides[0] + h * t.strides[1] + first * t.strides[2];
    constexpr auto kItem = static_cast<int64_t>(sizeof(T));
    if (s_.dtype == kCompute && t.strides[2] % kItem == 0 && t.strides[2] >= width * kItem) return {reinterpret_cast<const T*>(from), t.strides[2] / kItem};
    T* const to = buffer.get(count * width);
    for (int64_t i = 0; i < count; i++) convert(to + i * width, kCompute, from + i * t.strides[2], s_.dtype, width);
    return {to, width};
  }
  // The same, readable up to whole vectors in each row.
  Matrix<T> whole_rows(Matrix<T> m, int64_t count, int64_t width, Buffer<T>& buffer) const {
    if (width % width_ == 0) return m;
    const int64_t stride = whole(width);
    T* const to = buffer.filled(count * stride, T(0));
    for (int64_t i = 0; i < count; i++) std::copy_n(m.data + i * m.stride, width, to + i * stride);
    return {to, stride};
  }
  void write_rows(const AttentionOutput& t, int64_t b, int64_t h, int64_t first, int64_t count, int64_t width, Matrix<T> from) const {
    if (!t.data) return;
    for (int64_t i = 0; i < count; i++)
      convert(t.data + b * t.strides[0] + h * t.strides[1] + (first + i) * t.strides[2], s_.dtype, from.data + i * from.stride, kCompute, width);
  }
  // The columns of a strip of `width` rows.
  void write_columns(const AttentionOutput& t, int64_t b, int64_t h, int64_t first, int64_t count, int64_t width, const T* strip, Buffer<T>& buffer) const {
    if (!t.data) return;
    const int64_t stride = whole(width);
    T* const to = buffer.get(count * stride);
    stub_of<T>(gemm_strip_unpack_float_stub, gemm_strip_unpack_double_stub)(count, width, strip, to, stride);
    write_rows(t, b, h, first, count, width, {to, stride});
  }
  static void convert(void* to, ScalarType to_dtype, const void* from, ScalarType from_dtype, int64_t n) {
    converter(from_dtype, to_dtype)(static_cast<char*>(to), static_cast<int64_t>(element_size(to_dtype)), static_cast<const char*>(from),
                                    static_cast<int64_t>(element_size(from_dtype)), n);
  }

  AttentionMask mask(int64_t b, int64_t h, int64_t query, int64_t key) const {
    if (!s_.mask) return {};
    const int64_t* strides = s_.mask_strides;
    return {s_.mask + b * strides[0] + h * strides[1] + query * strides[2] + key * strides[3], s_.mask_dtype, strides[2], strides[3]};
  }
  AttentionStrip strip(T* scores, int64_t b, int64_t h, int64_t query, int64_t queries, int64_t key, int64_t keys, Buffer<T>& mask_buffer,
                       Buffer<T>& added_buffer) const {
    AttentionStrip t{kCompute, scores, keys, lanes(queries), width_, s_.causal ? query - key : s_.kv_len, {}, nullptr, s_.mask_dtype == ScalarType::Bool};
    const AttentionMask m = mask(b, h, query, key);
    if (!m.data) return t;
    if (m.query == 0) {
      t.key_mask = m;
      return t;
    }
    T* const added = added_buffer.get(keys * width_);
    t.added = added;
    constexpr auto kItem = static_cast<int64_t>(sizeof(T));
    if (m.dtype == kCompute && m.key == kItem && m.query % kItem == 0) {
      pack(queries, keys, {reinterpret_cast<const T*>(m.data), m.query / kItem}, added);
      return t;
    }
    const int64_t stride = whole(keys);
    T* const in_rows = mask_buffer.get(queries * stride);
    call(attention_mask_rows_stub)(kCompute, m, queries, keys, in_rows, stride);
    pack(queries, keys, {in_rows, stride}, added);
    return t;
  }
  // Of a few queries: rows of scores, in the place of strips.
  AttentionTile tile(T* scores, int64_t b, int64_t h, int64_t key, int64_t keys) const {
    return {kCompute, scores, s_.q_len, keys, kTileKeys, s_.causal ? -key : s_.kv_len, mask(b, h, 0, key)};
  }
  // c = scale * op(a) op(b) + (add ? c : 0).
  static void product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double scale, Matrix<T> a, Matrix<T> b, bool add, T* c, int64_t ldc) {
    gemm(kCompute, trans_a, trans_b, m, n, k, scale, a.data, a.stride, b.data, b.stride, add ? 1.0 : 0.0, c, ldc);
  }
  // Keys that the queries before `query_end` may see.
  int64_t keys_before(int64_t query_end) const { return s_.causal ? std::min(s_.kv_len, query_end) : s_.kv_len; }
  int64_t lse_offset(int64_t b, int64_t h, int64_t i) const { return (b * s_.q_heads + h) * s_.q_len + i; }
  int64_t whole(int64_t width) const { return (width + width_ - 1) / width_ * width_; }
  int64_t lanes(int64_t queries) const { return 2 * queries > width_ ? width_ : width_ / 2; }

  // f(first key, keys) for the strips before `end`.
  template <class F> static void each_strip(int64_t end, F f) {
    for (int64_t key = 0; key < end; key += kKeys) f(key, std::min(kKeys, end - key));
  }
  // Rows of all strips as matrices of their own, or their transposes.
  void pack_strips(bool trans, Matrix<T> m, int64_t width, T* packed) const {
    each_strip(s_.kv_len, [&](int64_t key, int64_t keys) {
      stub_of<T>(gemm_strip_pack_rows_float_stub, gemm_strip_pack_rows_double_stub)(trans, trans ? width : keys, trans ? keys : width, m.from(key).data,
                                                                                    m.stride, packed + key * width);
    });
  }
  void pack(int64_t queries, int64_t width, Matrix<T> m, T* to) const {
    stub_of<T>(gemm_strip_pack_float_stub, gemm_strip_pack_double_stub)(queries, width, m.data, m.stride, to);
  }
  // scores = scale * keys * queries.
  void scores(const T* packed, int64_t key, int64_t keys, int64_t width, int64_t queries, double scale, const T* strip, T* to) const {
    const StripProduct p{std::min(kKeys, s_.kv_len - key), width, keys, width, queries, scale, 0};
    stub_of<T>(gemm_strip_float_stub, gemm_strip_double_stub)(p, packed + key * width, strip, to);
  }
  // values = keys^T * weights, added to from the second strip on.
  void values(const T* packed, int64_t key, int64_t keys, int64_t width, int64_t queries, const T* strip, T* to) const {
    const StripProduct p{width, std::min(kKeys, s_.kv_len - key), width, keys, queries, 1, key ? 1.0 : 0.0};
    stub_of<T>(gemm_strip_float_stub, gemm_strip_double_stub)(p, packed + key * width, strip, to);
  }
  int64_t grain(int64_t rows) const {
    const double flops = 2.0 * static_cast<double>(rows * s_.kv_len * (s_.head_dim + s_.v_dim));
    return static_cast<int64_t>(kGrainFlops / std::max(flops, 1.0)) + 1;
  }

  const AttentionShape& s_;
  const int64_t width_;
};

template <class T> class Forward : Attention<T> {
  using Base = Attention<T>;
  using Base::kCompute, Base::kLowest, Base::s_, Base::width_;

 public:
  Forward(const AttentionShape& shape, const AttentionInput& q, const AttentionInput& k, const AttentionInput& v, const AttentionOutput& out, char* lse)
      : Base(shape), q_(q), k_(k), v_(v), out_(out), lse_(reinterpret_cast<T*>(lse)) {}

  void run() {
    if (s_.q_len <= kFewQueries) return run_few();
    const int64_t blocks = (s_.q_len + width_ - 1) / width_;
    parallel_for(0, s_.batch * s_.q_heads * blocks, this->grain(width_), [&](int64_t begin, int64_t end) {
      int64_t packed = -1;
      for (int64_t i = begin; i < end; i++) {
        const int64_t b = i / blocks / s_.q_heads, h = i / blocks % s_.q_heads, kv_head = h / (s_.q_heads / s_.kv_heads);
        if (packed != b * s_.kv_heads + kv_head) pack_head(b, kv_head);
        packed = b * s_.kv_heads + kv_head;
        block(b, h, i % blocks * width_);
      }
    });
  }

 private:
  struct Work {
    Buffer<T> rows, keys, values, queries, scores, out, max, sum, mask, added;
  };

  void pack_head(int64_t b, int64_t kv_head) const {
    Work& w = thread_work<Work>();
    this->pack_strips(false, this->rows(k_, b, kv_head, 0, s_.kv_len, s_.head_dim, w.rows), s_.head_dim, w.keys.get(s_.kv_len * s_.head_dim));
    this->pack_strips(true, this->rows(v_, b, kv_head, 0, s_.kv_len, s_.v_dim, w.rows), s_.v_dim, w.values.get(s_.kv_len * s_.v_dim));
  }

  void block(int64_t b, int64_t h, int64_t query) const {
    Work& w = thread_work<Work>();
    const int64_t count = std::min(width_, s_.q_len - query);
    const T *const k = w.keys.get(s_.kv_len * s_.head_dim), *const v = w.values.get(s_.kv_len * s_.v_dim);
    T *const q = w.queries.get(s_.head_dim * width_), *const scores = w.scores.get(kKeys * width_), *const out = w.out.get(s_.v_dim * width_);
    const AttentionState state{w.max.filled(width_, kLowest), w.sum.filled(width_, T(0)), out, s_.v_dim};
    this->pack(count, s_.head_dim, this->rows(q_, b, h, query, count, s_.head_dim, w.rows), q);
    const int64_t end = this->keys_before(query + count);
    if (end == 0) std::fill_n(out, s_.v_dim * width_, T(0));
    this->each_strip(end, [&](int64_t key, int64_t keys) {
      this->scores(k, key, keys, s_.head_dim, count, s_.scale, q, scores);
      call(attention_strip_softmax_stub)(this->strip(scores, b, h, query, count, key, keys, w.mask, w.added), state, key == 0);
      this->values(v, key, keys, s_.v_dim, count, scores, out);
    });
    const AttentionStrip shape{kCompute, nullptr, 0, this->lanes(count), width_, 0, {}, nullptr, false};
    call(attention_strip_finish_stub)(shape, count, state, lse_ ? lse_ + this->lse_offset(b, h, query) : nullptr);
    this->write_columns(out_, b, h, query, count, s_.v_dim, out, w.rows);
  }

  // A few queries, as in generation: a row of scores for each, keys and values read where they lie.
  void run_few() {
    parallel_for(0, s_.batch * s_.q_heads, this->grain(s_.q_len), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) few(i / s_.q_heads, i % s_.q_heads);
    });
  }
  void few(int64_t b, int64_t h) const {
    struct FewWork {
      Buffer<T> q, k, v, scores, values, max, sum;
    };
    FewWork& w = thread_work<FewWork>();
    const int64_t count = s_.q_len, kv_head = h / (s_.q_heads / s_.kv_heads);
    T *const scores = w.scores.get(count * kTileKeys), *const values = w.values.filled(count * s_.v_dim, T(0));
    const AttentionState state{w.max.filled(count, kLowest), w.sum.filled(count, T(0)), values, s_.v_dim};
    const Matrix<T> q = this->rows(q_, b, h, 0, count, s_.head_dim, w.q);
    const int64_t end = this->keys_before(count);
    for (int64_t key = 0; key < end; key += kTileKeys) {
      const int64_t keys = std::min(kTileKeys, end - key);
      const Matrix<T> k = this->rows(k_, b, kv_head, key, keys, s_.head_dim, w.k);
      this->product(false, true, count, keys, s_.head_dim, s_.scale, q, k, false, scores, kTileKeys);
      call(attention_softmax_stub)(this->tile(scores, b, h, key, keys), state);
      const Matrix<T> v = this->rows(v_, b, kv_head, key, keys, s_.v_dim, w.v);
      this->product(false, false, count, s_.v_dim, keys, 1, {scores, kTileKeys}, v, true, values, s_.v_dim);
    }
    call(attention_finish_stub)(kCompute, count, state, lse_ ? lse_ + this->lse_offset(b, h, 0) : nullptr);
    this->write_rows(out_, b, h, 0, count, s_.v_dim, {values, s_.v_dim});
  }

  const AttentionInput &q_, &k_, &v_;
  const AttentionOutput& out_;
  T* const lse_;
};

struct Gradients {
  const AttentionInput &dout, &q, &k, &v, &out;
  const char* lse;
  const AttentionOutput &dq, &dk, &dv;
};

// One task for each batch and key head, so that no two add to the same rows.
template <class T> class Backward : Attention<T> {
  using Base = Attention<T>;
  using Base::kCompute, Base::kLowest, Base::s_, Base::width_;

 public:
  Backward(const AttentionShape& shape, const Gradients& g) : Base(shape), g_(g) {}

  void run() {
    parallel_for(0, s_.batch * s_.kv_heads, this->grain(s_.q_len), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) head(i / s_.kv_heads, i % s_.kv_heads);
    });
  }

 private:
  struct Work {
    Buffer<T> rows, key_rows, value_rows, keys, keys_turned, values, dk, dv;
    Buffer<T> q_rows, q_whole, q, dout_rows, dout_whole, dout, out_rows, weights, gradients, dq, lse, delta, mask, added;
  };

  void head(int64_t b, int64_t kv_head) const {
    Work& w = thread_work<Work>();
    const int64_t key_elements = s_.kv_len * s_.head_dim, value_elements = s_.kv_len * s_.v_dim;
    const Matrix<T> k = this->rows(g_.k, b, kv_head, 0, s_.kv_len, s_.head_dim, w.key_rows);
    const Matrix<T> v = this->rows(g_.v, b, kv_head, 0, s_.kv_len, s_.v_dim, w.value_rows);
    T *const dk = w.dk.filled(key_elements, T(0)), *const dv = w.dv.filled(value_elements, T(0));
    const bool is_few = s_.q_len <= kFewQueries;
    if (!is_few) {
      this->pack_strips(false, k, s_.head_dim, w.keys.get(key_elements));
      this->pack_strips(true, k, s_.head_dim, w.keys_turned.get(key_elements));
      this->pack_strips(false, v, s_.v_dim, w.values.get(value_elements));
    }
    const int64_t group = s_.q_heads / s_.kv_heads;
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; h++) {
      if (is_few) few(b, h, k, v, dk, dv);
      else
        for (int64_t query = 0; query < s_.q_len; query += width_) block(b, h, query, dk, dv);
    }
    this->write_rows(g_.dk, b, kv_head, 0, s_.kv_len, s_.head_dim, {dk, s_.head_dim});
    this->write_rows(g_.dv, b, kv_head, 0, s_.kv_len, s_.v_dim, {dv, s_.v_dim});
  }

  void block(int64_t b, int64_t h, int64_t query, T* dk, T* dv) const {
    Work& w = thread_work<Work>();
    const int64_t count = std::min(width_, s_.q_len - query), key_elements = s_.kv_len * s_.head_dim;
    const T *const k = w.keys.get(key_elements), *const k_turned = w.keys_turned.get(key_elements), *const v = w.values.get(s_.kv_len * s_.v_dim);
    T *const weights = w.weights.get(kKeys * width_), *const gradients = w.gradients.get(kKeys * width_), *const dq = w.dq.get(s_.head_dim * width_);
    T *const q = w.q.get(s_.head_dim * width_), *const dout = w.dout.get(s_.v_dim * width_);
    const Matrix<T> q_rows = this->rows(g_.q, b, h, query, count, s_.head_dim, w.q_rows),
                    dout_rows = this->rows(g_.dout, b, h, query, count, s_.v_dim, w.dout_rows),
                    out_rows = this->rows(g_.out, b, h, query, count, s_.v_dim, w.out_rows);
    this->pack(count, s_.head_dim, q_rows, q);
    this->pack(count, s_.v_dim, dout_rows, dout);
    const Matrix<T> q_whole = this->whole_rows(q_rows, count, s_.head_dim, w.q_whole), dout_whole = this->whole_rows(dout_rows, count, s_.v_dim, w.dout_whole);
    // Columns without a query have weights of 0.
    T *const lse = w.lse.filled(width_, -kLowest), *const delta = w.delta.filled(width_, T(0));
    std::copy_n(reinterpret_cast<const T*>(g_.lse) + this->lse_offset(b, h, query), count, lse);
    call(attention_delta_stub)(kCompute, dout_rows.data, dout_rows.stride, out_rows.data, out_rows.stride, count, s_.v_dim, delta);
    const int64_t end = this->keys_before(query + count);
    this->each_strip(end, [&](int64_t key, int64_t keys) {
      this->scores(k, key, keys, s_.head_dim, count, s_.scale, q, weights);
      this->scores(v, key, keys, s_.v_dim, count, 1, dout, gradients);
      call(attention_strip_gradients_stub)(this->strip(weights, b, h, query, count, key, keys, w.mask, w.added), gradients, lse, delta, s_.scale);
      if (g_.dv.data) add_product(keys, s_.v_dim, count, weights, dout_whole, dv + key * s_.v_dim);
      if (g_.dk.data) add_product(keys, s_.head_dim, count, gradients, q_whole, dk + key * s_.head_dim);
      if (g_.dq.data) this->values(k_turned, key, keys, s_.head_dim, count, gradients, dq);
    });
    this->write_columns(g_.dq, b, h, query, count, s_.head_dim, dq, w.rows);
  }
  void few(int64_t b, int64_t h, Matrix<T> k, Matrix<T> v, T* dk, T* dv) const {
    Work& w = thread_work<Work>();
    const int64_t count = s_.q_len;
    T *const weights = w.weights.get(count * kTileKeys), *const gradients = w.gradients.get(count * kTileKeys), *const delta = w.delta.get(count);
    T* const dq = w.dq.filled(count * s_.head_dim, T(0));
    const Matrix<T> q = this->rows(g_.q, b, h, 0, count, s_.head_dim, w.q_rows), dout = this->rows(g_.dout, b, h, 0, count, s_.v_dim, w.dout_rows),
                    out = this->rows(g_.out, b, h, 0, count, s_.v_dim, w.out_rows), p{weights, kTileKeys};
    call(attention_delta_stub)(kCompute, dout.data, dout.stride, out.data, out.stride, count, s_.v_dim, delta);
    const int64_t end = this->keys_before(count);
    for (int64_t key = 0; key < end; key += kTileKeys) {
      const int64_t keys = std::min(kTileKeys, end - key);
      const AttentionTile tile = this->tile(weights, b, h, key, keys);
      this->product(false, true, count, keys, s_.head_dim, s_.scale, q, k.from(key), false, weights, kTileKeys);
      call(attention_weights_stub)(tile, reinterpret_cast<const T*>(g_.lse) + this->lse_offset(b, h, 0));
      this->product(true, false, keys, s_.v_dim, count, 1, p, dout, true, dv + key * s_.v_dim, s_.v_dim);
      this->product(false, true, count, keys, s_.v_dim, 1, dout, v.from(key), false, gradients, kTileKeys);
      call(attention_score_gradients_stub)(tile, gradients, delta, s_.scale);
      this->product(false, false, count, s_.head_dim, keys, 1, p, k.from(key), true, dq, s_.head_dim);
      this->product(true, false, keys, s_.head_dim, count, 1, p, q, true, dk + key * s_.head_dim, s_.head_dim);
    }
    this->write_rows(g_.dq, b, h, 0, count, s_.head_dim, {dq, s_.head_dim});
  }
  static void add_product(int64_t keys, int64_t width, int64_t queries, const T* strip, Matrix<T> rows, T* to) {
    stub_of<T>(gemm_strip_by_float_stub, gemm_strip_by_double_stub)(keys, width, queries, strip, rows.data, rows.stride, to, width);
  }

  const Gradients& g_;
};

}  // namespace

void attention(const AttentionShape& s, AttentionInput q, AttentionInput k, AttentionInput v, AttentionOutput out, char* lse) {
  if (s.dtype == ScalarType::Double) Forward<double>(s, q, k, v, out, lse).run();
  else Forward<float>(s, q, k, v, out, lse).run();
}

void attention_backward(const AttentionShape& s, AttentionInput dout, AttentionInput q, AttentionInput k, AttentionInput v, AttentionInput out, const char* lse,
                        AttentionOutput dq, AttentionOutput dk, AttentionOutput dv) {
  const Gradients g{dout, q, k, v, out, lse, dq, dk, dv};
  if (s.dtype == ScalarType::Double) Backward<double>(s, g).run();
  else Backward<float>(s, g).run();
}

}  // namespace cresset::kernels
