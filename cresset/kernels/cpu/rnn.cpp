#include "cresset/kernels/cpu/rnn.h"

#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

namespace math = expr::math;

template <class T>
void lstm_step(int64_t rows, int64_t hidden, T* gates, T* c, T* cells, T* out, T* h) {
  for (int64_t r = 0; r < rows; r++, gates += 4 * hidden, c += hidden, cells += hidden, out += hidden, h += hidden) {
    T *in = gates, *forget = gates + hidden, *fresh = gates + 2 * hidden, *show = gates + 3 * hidden;
#pragma GCC ivdep
    for (int64_t j = 0; j < hidden; j++) {
      const T i = math::sigmoid(in[j]), f = math::sigmoid(forget[j]), g = math::tanh(fresh[j]), o = math::sigmoid(show[j]);
      const T cell = f * c[j] + i * g, shown = o * math::tanh(cell);
      in[j] = i;
      forget[j] = f;
      fresh[j] = g;
      show[j] = o;
      c[j] = cells[j] = cell;
      out[j] = h[j] = shown;
    }
  }
}

template <class T>
void lstm_step_backward(int64_t rows, int64_t hidden, const T* gates, const T* cells, const T* c_before, const T* dh, T* dc, T* dgates) {
  for (int64_t r = 0; r < rows; r++, gates += 4 * hidden, dgates += 4 * hidden, cells += hidden, c_before += hidden, dh += hidden, dc += hidden) {
#pragma GCC ivdep
    for (int64_t j = 0; j < hidden; j++) {
      const T i = gates[j], f = gates[hidden + j], g = gates[2 * hidden + j], o = gates[3 * hidden + j], t = math::tanh(cells[j]);
      const T d = dc[j] + dh[j] * o * (1 - t * t);
      dgates[j] = d * g * i * (1 - i);
      dgates[hidden + j] = d * c_before[j] * f * (1 - f);
      dgates[2 * hidden + j] = d * i * (1 - g * g);
      dgates[3 * hidden + j] = dh[j] * t * o * (1 - o);
      dc[j] = d * f;
    }
  }
}

template <class T>
void gru_step(int64_t rows, int64_t hidden, const T* x, const T* hg, T* h, T* out, T* saved) {
  for (int64_t row = 0; row < rows; row++, x += 3 * hidden, hg += 3 * hidden, saved += 4 * hidden, h += hidden, out += hidden) {
#pragma GCC ivdep
    for (int64_t j = 0; j < hidden; j++) {
      const T r = math::sigmoid(x[j] + hg[j]), z = math::sigmoid(x[hidden + j] + hg[hidden + j]), part = hg[2 * hidden + j];
      const T n = math::tanh(x[2 * hidden + j] + r * part);
      saved[j] = r;
      saved[hidden + j] = z;
      saved[2 * hidden + j] = n;
      saved[3 * hidden + j] = part;
      out[j] = h[j] = (h[j] - n) * z + n;
    }
  }
}

template <class T>
void gru_step_backward(int64_t rows, int64_t hidden, const T* saved, const T* h_before, T* dh, T* dx, T* dhg) {
  for (int64_t row = 0; row < rows; row++, saved += 4 * hidden, h_before += hidden, dh += hidden, dx += 3 * hidden, dhg += 3 * hidden) {
#pragma GCC ivdep
    for (int64_t j = 0; j < hidden; j++) {
      const T r = saved[j], z = saved[hidden + j], n = saved[2 * hidden + j], part = saved[3 * hidden + j], d = dh[j];
      const T dn = d * (1 - z) * (1 - n * n), dr = dn * part * r * (1 - r), dz = d * (h_before[j] - n) * z * (1 - z);
      dx[j] = dhg[j] = dr;
      dx[hidden + j] = dhg[hidden + j] = dz;
      dx[2 * hidden + j] = dn;
      dhg[2 * hidden + j] = dn * r;
      dh[j] = d * z;
    }
  }
}

template <class T>
void rnn_step(int64_t n, bool relu, T* out, T* h) {
  if (relu) {
    for (int64_t j = 0; j < n; j++) out[j] = h[j] = out[j] < 0 ? T(0) : out[j];
  } else {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) out[j] = h[j] = math::tanh(out[j]);
  }
}

template <class T>
void rnn_step_backward(int64_t n, bool relu, const T* out, const T* dh, T* dx) {
  if (relu) {
    for (int64_t j = 0; j < n; j++) dx[j] = out[j] > 0 ? dh[j] : T(0);
  } else {
    for (int64_t j = 0; j < n; j++) dx[j] = dh[j] * (1 - out[j] * out[j]);
  }
}

}  // namespace

#define CRESSET_DEFINE_RNN(name, T)                                                                                                          \
  void lstm_step_##name(int64_t rows, int64_t hidden, T* gates, T* c, T* cells, T* out, T* h) {                                              \
    lstm_step(rows, hidden, gates, c, cells, out, h);                                                                                        \
  }                                                                                                                                          \
  void lstm_step_backward_##name(int64_t rows, int64_t hidden, const T* gates, const T* cells, const T* c_before, const T* dh, T* dc,        \
                                 T* dgates) {                                                                                                \
    lstm_step_backward(rows, hidden, gates, cells, c_before, dh, dc, dgates);                                                                \
  }                                                                                                                                          \
  void gru_step_##name(int64_t rows, int64_t hidden, const T* x, const T* hg, T* h, T* out, T* saved) {                                      \
    gru_step(rows, hidden, x, hg, h, out, saved);                                                                                            \
  }                                                                                                                                          \
  void gru_step_backward_##name(int64_t rows, int64_t hidden, const T* saved, const T* h_before, T* dh, T* dx, T* dhg) {                     \
    gru_step_backward(rows, hidden, saved, h_before, dh, dx, dhg);                                                                           \
  }                                                                                                                                          \
  void rnn_step_##name(int64_t n, bool relu, T* out, T* h) { rnn_step(n, relu, out, h); }                                                    \
  void rnn_step_backward_##name(int64_t n, bool relu, const T* out, const T* dh, T* dx) { rnn_step_backward(n, relu, out, dh, dx); }
CRESSET_DEFINE_RNN(float, float)
CRESSET_DEFINE_RNN(double, double)
#undef CRESSET_DEFINE_RNN

}  // namespace cresset::kernels::CRESSET_ISA
