// Tiled attention against the definition in double precision: lengths around the tiles, masks, shared key heads, narrow dtypes.
#include "cresset/kernels/sequence/attention.h"

#include <cmath>
#include <random>
#include <vector>

#include "cresset/base/numbers/half.h"
#include "cresset/base/parallel.h"
#include "gtest/gtest.h"

namespace cresset::kernels {
namespace {

struct Case {
  int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, v_dim;
  bool causal;
  int mask;  // 0: none, 1: bool, 2: added
};

template <class T> struct Problem {
  AttentionShape shape;
  std::vector<T> q, k, v, dout;
  std::vector<char> hidden;
  std::vector<T> added;

  explicit Problem(const Case& c) {
    shape.dtype = dtype_of<T>;
    shape.batch = c.batch;
    shape.q_heads = c.q_heads;
    shape.kv_heads = c.kv_heads;
    shape.q_len = c.q_len;
    shape.kv_len = c.kv_len;
    shape.head_dim = c.head_dim;
    shape.v_dim = c.v_dim;
    shape.causal = c.causal;
    shape.scale = 0.4;
    std::mt19937 gen(1);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<T>& x, int64_t n) {
      x.resize(static_cast<size_t>(n));
      for (T& e : x) e = T(normal(gen));
    };
    fill(q, c.batch * c.q_heads * c.q_len * c.head_dim);
    fill(k, c.batch * c.kv_heads * c.kv_len * c.head_dim);
    fill(v, c.batch * c.kv_heads * c.kv_len * c.v_dim);
    fill(dout, c.batch * c.q_heads * c.q_len * c.v_dim);
    // One mask for all batches and heads; its first row hides every key.
    hidden.resize(static_cast<size_t>(c.q_len * c.kv_len));
    for (size_t i = 0; i < hidden.size(); i++) hidden[i] = static_cast<int64_t>(i) >= c.kv_len && gen() % 3 != 0;
    fill(added, c.q_len * c.kv_len);
    if (c.mask == 1) {
      shape.mask = hidden.data();
      shape.mask_dtype = ScalarType::Bool;
      shape.mask_strides[2] = c.kv_len;
      shape.mask_strides[3] = 1;
    } else if (c.mask == 2) {
      shape.mask = reinterpret_cast<const char*>(added.data());
      shape.mask_dtype = dtype_of<T>;
      shape.mask_strides[2] = c.kv_len * static_cast<int64_t>(sizeof(T));
      shape.mask_strides[3] = sizeof(T);
    }
  }

  // Batches, heads and rows one after another.
  static AttentionInput input(const std::vector<T>& x, int64_t heads, int64_t length, int64_t width) {
    const int64_t row = width * static_cast<int64_t>(sizeof(T));
    return {reinterpret_cast<const char*>(x.data()), {heads * length * row, length * row, row}};
  }
  static AttentionOutput output(std::vector<T>& x, int64_t heads, int64_t length, int64_t width) {
    const AttentionInput i = input(x, heads, length, width);
    return {reinterpret_cast<char*>(x.data()), {i.strides[0], i.strides[1], i.strides[2]}};
  }
  AttentionInput q_in() const { return input(q, shape.q_heads, shape.q_len, shape.head_dim); }
  AttentionInput k_in() const { return input(k, shape.kv_heads, shape.kv_len, shape.head_dim); }
  AttentionInput v_in() const { return input(v, shape.kv_heads, shape.kv_len, shape.v_dim); }
};

struct Results {
  std::vector<double> out, dq, dk, dv;
};

template <class T> Results by_definition(const Problem<T>& p) {
  const AttentionShape& s = p.shape;
  Results r;
  r.out.resize(p.dout.size());
  r.dq.resize(p.q.size());
  r.dk.resize(p.k.size());
  r.dv.resize(p.v.size());
  for (int64_t b = 0; b < s.batch; b++)
    for (int64_t h = 0; h < s.q_heads; h++) {
      const int64_t kv = b * s.kv_heads + h / (s.q_heads / s.kv_heads), qh = b * s.q_heads + h;
      for (int64_t i = 0; i < s.q_len; i++) {
        const T* query = &p.q[static_cast<size_t>((qh * s.q_len + i) * s.head_dim)];
        std::vector<double> w(static_cast<size_t>(s.kv_len));
        double max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < s.kv_len; j++) {
          double dot = 0;
          for (int64_t d = 0; d < s.head_dim; d++)
            dot += static_cast<double>(query[d]) * static_cast<double>(p.k[static_cast<size_t>((kv * s.kv_len + j) * s.head_dim + d)]);
          dot *= s.scale;
          const auto at = static_cast<size_t>(i * s.kv_len + j);
          if (s.mask && s.mask_dtype == ScalarType::Bool && !p.hidden[at]) dot = -INFINITY;
          if (s.mask && s.mask_dtype != ScalarType::Bool) dot += static_cast<double>(p.added[at]);
          if (s.causal && j > i) dot = -INFINITY;
          w[static_cast<size_t>(j)] = dot;
          max = std::max(max, dot);
        }
        for (double& x : w) sum += x = max == -INFINITY ? 0 : std::exp(x - max);
        for (double& x : w) x = sum == 0 ? 0 : x / sum;
        double delta = 0;
        for (int64_t d = 0; d < s.v_dim; d++) {
          double o = 0;
          for (int64_t j = 0; j < s.kv_len; j++)
            o += w[static_cast<size_t>(j)] * static_cast<double>(p.v[static_cast<size_t>((kv * s.kv_len + j) * s.v_dim + d)]);
          const auto at = static_cast<size_t>((qh * s.q_len + i) * s.v_dim + d);
          r.out[at] = o;
          delta += o * static_cast<double>(p.dout[at]);
        }
        for (int64_t j = 0; j < s.kv_len; j++) {
          double dw = 0;
          const double weight = w[static_cast<size_t>(j)];
          for (int64_t d = 0; d < s.v_dim; d++) {
            const auto value = static_cast<size_t>((kv * s.kv_len + j) * s.v_dim + d);
            const double g = static_cast<double>(p.dout[static_cast<size_t>((qh * s.q_len + i) * s.v_dim + d)]);
            dw += g * static_cast<double>(p.v[value]);
            r.dv[value] += weight * g;
          }
          const double ds = weight * (dw - delta) * s.scale;
          for (int64_t d = 0; d < s.head_dim; d++) {
            const auto key = static_cast<size_t>((kv * s.kv_len + j) * s.head_dim + d), at = static_cast<size_t>((qh * s.q_len + i) * s.head_dim + d);
            r.dq[at] += ds * static_cast<double>(p.k[key]);
            r.dk[key] += ds * static_cast<double>(p.q[at]);
          }
        }
      }
    }
  return r;
}

template <class T> void expect_near(const std::vector<T>& got, const std::vector<double>& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++)
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance * std::max(1.0, std::fabs(want[i]))) << what << " at " << i;
}

template <class T> void check(const Case& c, double tolerance) {
  const Problem<T> p(c);
  const AttentionShape& s = p.shape;
  const Results want = by_definition(p);
  std::vector<T> before[4];
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    std::vector<T> out(p.dout.size()), dq(p.q.size()), dk(p.k.size()), dv(p.v.size());
    std::vector<double> lse(static_cast<size_t>(s.batch * s.q_heads * s.q_len));  // room for either width
    char* lse_data = reinterpret_cast<char*>(lse.data());
    attention(s, p.q_in(), p.k_in(), p.v_in(), p.output(out, s.q_heads, s.q_len, s.v_dim), lse_data);
    attention_backward(s, p.input(p.dout, s.q_heads, s.q_len, s.v_dim), p.q_in(), p.k_in(), p.v_in(), p.input(out, s.q_heads, s.q_len, s.v_dim), lse_data,
                       p.output(dq, s.q_heads, s.q_len, s.head_dim), p.output(dk, s.kv_heads, s.kv_len, s.head_dim),
                       p.output(dv, s.kv_heads, s.kv_len, s.v_dim));
    expect_near(out, want.out, tolerance, "out");
    expect_near(dq, want.dq, tolerance, "dq");
    expect_near(dk, want.dk, tolerance, "dk");
    expect_near(dv, want.dv, tolerance, "dv");
    int n = 0;
    for (const std::vector<T>* x : {&out, &dq, &dk, &dv}) {
      if (threads == 1) before[n] = *x;
      else
        for (size_t i = 0; i < x->size(); i++) ASSERT_EQ(static_cast<double>((*x)[i]), static_cast<double>(before[n][i])) << "two threads, array " << n;
      n++;
    }
  }
  set_num_threads(1);
}

const std::vector<Case> kCases = {{1, 1, 1, 1, 1, 1, 1, false, 0},
                                  {2, 2, 2, 3, 6, 8, 8, false, 0},
                                  {1, 2, 2, 130, 300, 16, 24, false, 0},
                                  {1, 2, 1, 131, 131, 7, 5, true, 0},
                                  {1, 4, 2, 20, 513, 32, 32, false, 1},
                                  {1, 2, 2, 129, 257, 16, 16, false, 2},
                                  {2, 2, 2, 257, 140, 8, 8, true, 0},
                                  {1, 1, 1, 40, 260, 64, 64, true, 0},
                                  // Several tiles of keys, so that the running maximum moves on.
                                  {1, 2, 2, 70, 1100, 16, 16, false, 0},
                                  {1, 1, 1, 600, 1030, 8, 8, true, 0},
                                  {1, 1, 1, 65, 1300, 8, 8, false, 2}};

TEST(Attention, Double) {
  for (const Case& c : kCases) check<double>(c, 1e-12);
}
TEST(Attention, Float) {
  for (const Case& c : kCases) check<float>(c, 2e-5);
}
TEST(Attention, Half) {
  check<Half>(kCases[1], 2e-2);
  check<Half>(kCases[5], 2e-2);
}
TEST(Attention, BFloat16) { check<BFloat16>(kCases[1], 1e-1); }

TEST(Attention, NotANumberInAKeyReachesTheQueriesThatSeeIt) {
  Problem<float> p({1, 1, 1, 3, 3, 2, 2, true, 0});
  p.k[2 * 2] = NAN;
  std::vector<float> out(6), lse(3);
  attention(p.shape, p.q_in(), p.k_in(), p.v_in(), p.output(out, 1, 3, 2), reinterpret_cast<char*>(lse.data()));
  EXPECT_FALSE(std::isnan(out[0]) || std::isnan(out[2]));
  EXPECT_TRUE(std::isnan(out[4]));
}

}  // namespace
}  // namespace cresset::kernels
