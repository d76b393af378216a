#include "cresset/kernels/rnn.h"

#include <algorithm>
#include <type_traits>

#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/cpu/rnn.h"
#include "cresset/kernels/gemm.h"

namespace cresset::kernels {

namespace {

template <class T>
struct Steps;
#define CRESSET_RNN_STEPS(name, T)                                      \
  template <>                                                           \
  struct Steps<T> {                                                     \
    static auto lstm() { return call(lstm_step_##name##_stub); }        \
    static auto lstm_backward() { return call(lstm_step_backward_##name##_stub); } \
    static auto gru() { return call(gru_step_##name##_stub); }          \
    static auto gru_backward() { return call(gru_step_backward_##name##_stub); }   \
    static auto rnn() { return call(rnn_step_##name##_stub); }          \
    static auto rnn_backward() { return call(rnn_step_backward_##name##_stub); }   \
  };
CRESSET_RNN_STEPS(float, float)
CRESSET_RNN_STEPS(double, double)
#undef CRESSET_RNN_STEPS

// One step: its first row among all, its rows, and those of the step worked on before it.
struct Step {
  int64_t first, rows, before_first, before_rows;
};

std::vector<Step> steps_of(const RnnShape& s) {
  std::vector<Step> steps;
  int64_t first = 0;
  for (const int64_t rows : s.batch_sizes) {
    steps.push_back({first, rows, 0, 0});
    first += rows;
  }
  if (s.reverse) std::reverse(steps.begin(), steps.end());
  for (size_t i = 1; i < steps.size(); i++) {
    steps[i].before_first = steps[i - 1].first;
    steps[i].before_rows = steps[i - 1].rows;
  }
  return steps;
}

int64_t batch_of(const RnnShape& s) { return s.batch_sizes.empty() ? 0 : s.batch_sizes[0]; }
template <class T> const T* in(const void* p) { return static_cast<const T*>(p); }
template <class T> T* out(void* p) { return static_cast<T*>(p); }

template <class T>
void forward(const RnnShape& s, const RnnLayer& a) {
  const int64_t H = s.hidden, G = rnn_gates(s.kind) * H, B = batch_of(s);
  const T *gates = in<T>(a.gates), *bias = in<T>(a.bias);
  T *h = out<T>(a.hn), *c = out<T>(a.cn), *y = out<T>(a.out), *saved = out<T>(a.saved);
  std::copy_n(in<T>(a.hx), B * H, h);
  if (s.kind == RnnKind::lstm) std::copy_n(in<T>(a.cx), B * H, c);
  const AlignedBuffer<T> hidden_gates(s.kind == RnnKind::gru ? B * G : 0);
  for (const Step& t : steps_of(s)) {
    const T* x = gates + t.first * G;
    // The hidden part is added where the gates are kept, or stays apart.
    T* const sum = s.kind == RnnKind::lstm ? saved + t.first * G : s.kind == RnnKind::gru ? hidden_gates.data : y + t.first * H;
    for (int64_t r = 0; r < t.rows; r++)
      for (int64_t j = 0; j < G; j++) sum[r * G + j] = (s.kind == RnnKind::gru ? T(0) : x[r * G + j]) + (bias ? bias[j] : T(0));
    gemm(s.dtype, false, true, t.rows, G, H, 1, h, H, a.weight, H, 1, sum, G);
    T* const to = y + t.first * H;
    switch (s.kind) {
      case RnnKind::lstm: Steps<T>::lstm()(t.rows, H, sum, c, out<T>(a.cells) + t.first * H, to, h); break;
      case RnnKind::gru: Steps<T>::gru()(t.rows, H, x, sum, h, to, saved + t.first * 4 * H); break;
      default: Steps<T>::rnn()(t.rows * H, s.kind == RnnKind::relu, to, h);
    }
  }
}

template <class T>
void backward(const RnnShape& s, const RnnLayerBackward& a) {
  const int64_t H = s.hidden, G = rnn_gates(s.kind) * H, B = batch_of(s);
  const std::vector<Step> steps = steps_of(s);
  int64_t N = 0;
  for (const Step& t : steps) N += t.rows;
  const T *y = in<T>(a.out), *saved = in<T>(a.saved), *cells = in<T>(a.cells), *d_out = in<T>(a.d_out);
  T *dh = out<T>(a.d_hx), *dc = out<T>(a.d_cx), *d_gates = out<T>(a.d_gates), *d_bias = out<T>(a.d_bias);
  const auto start = [&](T* to, const void* from) { from ? std::copy_n(in<T>(from), B * H, to) : std::fill_n(to, B * H, T(0)); };
  start(dh, a.d_hn);
  if (s.kind == RnnKind::lstm) start(dc, a.d_cn);
  // What the states before the steps were, and for a GRU the gradients of the hidden state's part of the gates.
  const AlignedBuffer<T> before(N * H), apart(s.kind == RnnKind::gru ? N * G : 0);
  T* const d_hidden = s.kind == RnnKind::gru ? apart.data : d_gates;
  const auto copy_state = [&](const T* all, const void* initial, const Step& t, T* to) {
    const int64_t kept = std::min(t.rows, t.before_rows);
    std::copy_n(all + t.before_first * H, kept * H, to);
    std::copy_n(in<T>(initial) + kept * H, (t.rows - kept) * H, to + kept * H);
  };
  const AlignedBuffer<T> cell_before(s.kind == RnnKind::lstm ? B * H : 0);
  for (size_t i = steps.size(); i-- > 0;) {
    const Step& t = steps[i];
    const int64_t n = t.rows * H;
    if (d_out)
      for (int64_t j = 0; j < n; j++) dh[j] += d_out[t.first * H + j];
    T* const h_before = before.data + t.first * H;
    copy_state(y, a.hx, t, h_before);
    T *const dx = d_gates + t.first * G, *const dg = d_hidden + t.first * G;
    switch (s.kind) {
      case RnnKind::lstm:
        copy_state(cells, a.cx, t, cell_before.data);
        Steps<T>::lstm_backward()(t.rows, H, saved + t.first * G, cells + t.first * H, cell_before.data, dh, dc, dx);
        break;
      case RnnKind::gru: Steps<T>::gru_backward()(t.rows, H, saved + t.first * 4 * H, h_before, dh, dx, dg); break;
      default: Steps<T>::rnn_backward()(n, s.kind == RnnKind::relu, y + t.first * H, dh, dx);
    }
    gemm(s.dtype, false, false, t.rows, H, G, 1, dg, G, a.weight, H, s.kind == RnnKind::gru ? 1 : 0, dh, H);
  }
  gemm(s.dtype, true, false, G, H, N, 1, d_hidden, G, before.data, H, 0, a.d_weight, H);
  std::fill_n(d_bias, G, T(0));
  for (int64_t r = 0; r < N; r++)
    for (int64_t j = 0; j < G; j++) d_bias[j] += d_hidden[r * G + j];
}

}  // namespace

void rnn_layer(const RnnShape& s, const RnnLayer& layer) {
  s.dtype == ScalarType::Float ? forward<float>(s, layer) : forward<double>(s, layer);
}
void rnn_layer_backward(const RnnShape& s, const RnnLayerBackward& layer) {
  s.dtype == ScalarType::Float ? backward<float>(s, layer) : backward<double>(s, layer);
}

}  // namespace cresset::kernels
