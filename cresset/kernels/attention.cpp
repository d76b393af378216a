#include "cresset/kernels/attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "cresset/kernels/common/element.h"

namespace cresset::kernels {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The scores of one query against every key.
std::vector<double> scores(const AttentionShape& s, const AttentionInput& q, const AttentionInput& k, int64_t b, int64_t h, int64_t i) {
  const int64_t kh = h / (s.q_heads / s.kv_heads);
  const AnyInput<double> query(q.data + b * q.strides[0] + h * q.strides[1] + i * q.strides[2], s.dtype);
  std::vector<double> out(s.kv_len);
  for (int64_t j = 0; j < s.kv_len; j++) {
    const AnyInput<double> key(k.data + b * k.strides[0] + kh * k.strides[1] + j * k.strides[2], s.dtype);
    double dot = 0;
    for (int64_t d = 0; d < s.head_dim; d++) dot += query[d] * key[d];
    dot *= s.scale;
    if (s.mask) {
      const char* m = s.mask + b * s.mask_strides[0] + h * s.mask_strides[1] + i * s.mask_strides[2] + j * s.mask_strides[3];
      const double value = load_fn<double>(s.mask_dtype)(m);
      if (s.mask_dtype == ScalarType::Bool) dot = value != 0 ? dot : -kInfinity;
      else dot += value;
    }
    out[j] = s.causal && j > i ? -kInfinity : dot;
  }
  return out;
}

}  // namespace

void attention(const AttentionShape& s, AttentionInput q, AttentionInput k, AttentionInput v, AttentionOutput out, char* lse) {
  const AnyOutput<double> lse_out(lse, s.dtype == ScalarType::Double ? ScalarType::Double : ScalarType::Float);
  for (int64_t b = 0; b < s.batch; b++)
    for (int64_t h = 0; h < s.q_heads; h++)
      for (int64_t i = 0; i < s.q_len; i++) {
        std::vector<double> p = scores(s, q, k, b, h, i), acc(s.v_dim, 0.0);
        double max = -kInfinity, sum = 0;
        for (double x : p) max = x > max || std::isnan(x) ? x : max;
        for (double& x : p) sum += x = max == -kInfinity ? 0 : std::exp(x - max);
        for (int64_t j = 0; j < s.kv_len; j++) {
          const AnyInput<double> value(v.data + b * v.strides[0] + h / (s.q_heads / s.kv_heads) * v.strides[1] + j * v.strides[2], s.dtype);
          for (int64_t d = 0; d < s.v_dim && p[j] != 0; d++) acc[d] += p[j] * value[d];
        }
        const AnyOutput<double> row(out.data + b * out.strides[0] + h * out.strides[1] + i * out.strides[2], s.dtype);
        for (int64_t d = 0; d < s.v_dim; d++) row.set(d, sum == 0 ? 0 : acc[d] / sum);
        lse_out.set((b * s.q_heads + h) * s.q_len + i, sum == 0 ? -kInfinity : max + std::log(sum));
      }
}

void attention_backward(const AttentionShape& s, AttentionInput dout, AttentionInput q, AttentionInput k, AttentionInput v,
                        AttentionInput out, const char* lse, AttentionOutput dq, AttentionOutput dk, AttentionOutput dv) {
  const AnyInput<double> lse_in(lse, s.dtype == ScalarType::Double ? ScalarType::Double : ScalarType::Float);
  const auto row = [&](const AttentionInput& t, int64_t b, int64_t h, int64_t i) {
    return AnyInput<double>(t.data + b * t.strides[0] + h * t.strides[1] + i * t.strides[2], s.dtype);
  };
  const auto put = [&](const AttentionOutput& t, int64_t b, int64_t h, int64_t i, const double* from, int64_t n) {
    if (!t.data) return;
    const AnyOutput<double> to(t.data + b * t.strides[0] + h * t.strides[1] + i * t.strides[2], s.dtype);
    for (int64_t d = 0; d < n; d++) to.set(d, from[d]);
  };
  const int64_t ratio = s.q_heads / s.kv_heads;
  for (int64_t b = 0; b < s.batch; b++)
    for (int64_t kh = 0; kh < s.kv_heads; kh++) {
      std::vector<double> gk(s.kv_len * s.head_dim, 0.0), gv(s.kv_len * s.v_dim, 0.0);
      for (int64_t h = kh * ratio; h < (kh + 1) * ratio; h++)
        for (int64_t i = 0; i < s.q_len; i++) {
          std::vector<double> p = scores(s, q, k, b, h, i), gq(s.head_dim, 0.0);
          const double l = lse_in[(b * s.q_heads + h) * s.q_len + i];
          const auto go = row(dout, b, h, i), o = row(out, b, h, i), query = row(q, b, h, i);
          double delta = 0;
          for (int64_t d = 0; d < s.v_dim; d++) delta += go[d] * o[d];
          for (int64_t j = 0; j < s.kv_len; j++) {
            const double pj = p[j] == -kInfinity ? 0 : std::exp(p[j] - l);
            if (pj == 0) continue;
            const auto value = row(v, b, kh, j), key = row(k, b, kh, j);
            double dp = 0;
            for (int64_t d = 0; d < s.v_dim; d++) {
              dp += go[d] * value[d];
              gv[j * s.v_dim + d] += pj * go[d];
            }
            const double ds = pj * (dp - delta) * s.scale;
            for (int64_t d = 0; d < s.head_dim; d++) {
              gq[d] += ds * key[d];
              gk[j * s.head_dim + d] += ds * query[d];
            }
          }
          put(dq, b, h, i, gq.data(), s.head_dim);
        }
      for (int64_t j = 0; j < s.kv_len; j++) {
        put(dk, b, kh, j, gk.data() + j * s.head_dim, s.head_dim);
        put(dv, b, kh, j, gv.data() + j * s.v_dim, s.v_dim);
      }
    }
}

}  // namespace cresset::kernels
