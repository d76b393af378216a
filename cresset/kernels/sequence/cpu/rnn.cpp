#include "cresset/kernels/sequence/cpu/rnn.h"

#include <algorithm>

#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

namespace math = expr::math;

// f(with) where with(j) is dh[j] and what the output adds to it.
template <class T, class F> CRESSET_ALWAYS_INLINE void with_output(const T* dh, const T* d_out, F&& f) {
  if (d_out) f([=](int64_t j) { return dh[j] + d_out[j]; });
  else f([=](int64_t j) { return dh[j]; });
}

template <class T> void lstm_step(int64_t rows, int64_t hidden, const T* x, const T* bias, T* gates, T* c, T* cells, T* out, T* h) {
  for (int64_t r = 0; r < rows; r++, x += 4 * hidden, gates += 4 * hidden, c += hidden, cells += hidden, out += hidden, h += hidden) {
#pragma GCC ivdep
    for (int64_t j = 0; j < hidden; j++) {
      const int64_t jf = j + hidden, jg = j + 2 * hidden, jo = j + 3 * hidden;
      const T i = math::sigmoid(x[j] + (gates[j] + bias[j])), f = math::sigmoid(x[jf] + (gates[jf] + bias[jf]));
      const T g = math::tanh(x[jg] + (gates[jg] + bias[jg])), o = math::sigmoid(x[jo] + (gates[jo] + bias[jo]));
      const T cell = f * c[j] + i * g, shown = o * math::tanh(cell);
      gates[j] = i;
      gates[jf] = f;
      gates[jg] = g;
      gates[jo] = o;
      c[j] = cells[j] = cell;
      out[j] = h[j] = shown;
    }
  }
}

template <class T>
void lstm_step_backward(int64_t rows, int64_t hidden, const T* gates, const T* cells, const T* c_before, const T* dh, const T* d_out, T* dc, T* dgates) {
  with_output(dh, d_out, [&](auto after) {
    for (int64_t r = 0; r < rows; r++, gates += 4 * hidden, dgates += 4 * hidden, cells += hidden, c_before += hidden, dc += hidden) {
#pragma GCC ivdep
      for (int64_t j = 0; j < hidden; j++) {
        const T i = gates[j], f = gates[hidden + j], g = gates[2 * hidden + j], o = gates[3 * hidden + j], t = math::tanh(cells[j]);
        const T shown = after(r * hidden + j), d = dc[j] + shown * o * (1 - t * t);
        dgates[j] = d * g * i * (1 - i);
        dgates[hidden + j] = d * c_before[j] * f * (1 - f);
        dgates[2 * hidden + j] = d * i * (1 - g * g);
        dgates[3 * hidden + j] = shown * t * o * (1 - o);
        dc[j] = d * f;
      }
    }
  });
}

template <class T> void gru_step(int64_t rows, int64_t hidden, const T* x, const T* bias, const T* hg, T* h, T* out, T* saved) {
  for (int64_t row = 0; row < rows; row++, x += 3 * hidden, hg += 3 * hidden, saved += 4 * hidden, h += hidden, out += hidden) {
#pragma GCC ivdep
    for (int64_t j = 0; j < hidden; j++) {
      const int64_t jz = hidden + j, jn = 2 * hidden + j;
      const T r = math::sigmoid(x[j] + (hg[j] + bias[j])), z = math::sigmoid(x[jz] + (hg[jz] + bias[jz])), part = hg[jn] + bias[jn];
      const T n = math::tanh(x[jn] + r * part);
      saved[j] = r;
      saved[jz] = z;
      saved[jn] = n;
      saved[3 * hidden + j] = part;
      out[j] = h[j] = (h[j] - n) * z + n;
    }
  }
}

template <class T> void gru_step_backward(int64_t rows, int64_t hidden, const T* saved, const T* h_before, const T* d_out, T* dh, T* dx, T* dhg) {
  with_output(dh, d_out, [&](auto after) {
    for (int64_t row = 0; row < rows; row++, saved += 4 * hidden, h_before += hidden, dx += 3 * hidden, dhg += 3 * hidden) {
#pragma GCC ivdep
      for (int64_t j = 0; j < hidden; j++) {
        const T r = saved[j], z = saved[hidden + j], n = saved[2 * hidden + j], part = saved[3 * hidden + j], d = after(row * hidden + j);
        const T dn = d * (1 - z) * (1 - n * n), dr = dn * part * r * (1 - r), dz = d * (h_before[j] - n) * z * (1 - z);
        dx[j] = dhg[j] = dr;
        dx[hidden + j] = dhg[hidden + j] = dz;
        dx[2 * hidden + j] = dn;
        dhg[2 * hidden + j] = dn * r;
        dh[row * hidden + j] = d * z;
      }
    }
  });
}

template <class T> void rnn_step(int64_t rows, int64_t hidden, bool relu, const T* x, const T* bias, T* out, T* h) {
  const auto each = [&](auto f) {
    for (int64_t r = 0; r < rows; r++, x += hidden, out += hidden, h += hidden) {
#pragma GCC ivdep
      for (int64_t j = 0; j < hidden; j++) out[j] = h[j] = f(x[j] + (out[j] + bias[j]));
    }
  };
  if (relu) each([](T v) { return v < 0 ? T(0) : v; });
  else each([](T v) { return math::tanh(v); });
}

template <class T> void rnn_step_backward(int64_t n, bool relu, const T* out, const T* dh, const T* d_out, T* dx) {
  with_output(dh, d_out, [&](auto after) {
    if (relu) {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; j++) dx[j] = out[j] > 0 ? after(j) : T(0);
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; j++) dx[j] = after(j) * (1 - out[j] * out[j]);
    }
  });
}

template <class T> void column_sums(int64_t rows, int64_t columns, const T* x, T* sum) {
  std::fill_n(sum, columns, T(0));
  for (int64_t r = 0; r < rows; r++, x += columns) {
#pragma GCC ivdep
    for (int64_t j = 0; j < columns; j++) sum[j] += x[j];
  }
}

}  // namespace

#define CRESSET_DEFINE_RNN(name, T)                                                                                                                         \
  void lstm_step_##name(int64_t rows, int64_t hidden, const T* x, const T* bias, T* gates, T* c, T* cells, T* out, T* h) {                                  \
    lstm_step(rows, hidden, x, bias, gates, c, cells, out, h);                                                                                              \
  }                                                                                                                                                         \
  void lstm_step_backward_##name(int64_t rows, int64_t hidden, const T* gates, const T* cells, const T* c_before, const T* dh, const T* d_out, T* dc,       \
                                 T* dgates) {                                                                                                               \
    lstm_step_backward(rows, hidden, gates, cells, c_before, dh, d_out, dc, dgates);                                                                        \
  }                                                                                                                                                         \
  void gru_step_##name(int64_t rows, int64_t hidden, const T* x, const T* bias, const T* hg, T* h, T* out, T* saved) {                                      \
    gru_step(rows, hidden, x, bias, hg, h, out, saved);                                                                                                     \
  }                                                                                                                                                         \
  void gru_step_backward_##name(int64_t rows, int64_t hidden, const T* saved, const T* h_before, const T* d_out, T* dh, T* dx, T* dhg) {                    \
    gru_step_backward(rows, hidden, saved, h_before, d_out, dh, dx, dhg);                                                                                   \
  }                                                                                                                                                         \
  void rnn_step_##name(int64_t rows, int64_t hidden, bool relu, const T* x, const T* bias, T* out, T* h) { rnn_step(rows, hidden, relu, x, bias, out, h); } \
  void rnn_step_backward_##name(int64_t n, bool relu, const T* out, const T* dh, const T* d_out, T* dx) { rnn_step_backward(n, relu, out, dh, d_out, dx); } \
  void rnn_column_sums_##name(int64_t rows, int64_t columns, const T* x, T* sum) { column_sums(rows, columns, x, sum); }
CRESSET_DEFINE_RNN(float, float)
CRESSET_DEFINE_RNN(double, double)
#undef CRESSET_DEFINE_RNN

}  // namespace cresset::kernels::CRESSET_ISA
