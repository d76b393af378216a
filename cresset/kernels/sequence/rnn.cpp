#include "cresset/kernels/sequence/rnn.h"

#include <algorithm>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/gemm/cpu/gemm.h"
#include "cresset/kernels/gemm/gemm.h"
#include "cresset/kernels/sequence/cpu/rnn.h"

namespace cresset::kernels {

namespace {

template <class T> struct Kernels;
#define CRESSET_RNN_KERNELS(name, T)                                               \
  template <> struct Kernels<T> {                                                  \
    static auto lstm() { return call(lstm_step_##name##_stub); }                   \
    static auto lstm_backward() { return call(lstm_step_backward_##name##_stub); } \
    static auto gru() { return call(gru_step_##name##_stub); }                     \
    static auto gru_backward() { return call(gru_step_backward_##name##_stub); }   \
    static auto rnn() { return call(rnn_step_##name##_stub); }                     \
    static auto rnn_backward() { return call(rnn_step_backward_##name##_stub); }   \
    static auto column_sums() { return call(rnn_column_sums_##name##_stub); }      \
    static auto packed_size() { return call(gemm_columns_size_##name##_stub); }    \
    static auto pack() { return call(gemm_columns_pack_##name##_stub); }           \
    static auto multiply() { return call(gemm_columns_##name##_stub); }            \
  };
CRESSET_RNN_KERNELS(float, float)
CRESSET_RNN_KERNELS(double, double)
#undef CRESSET_RNN_KERNELS

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

// The weights of the hidden state, op(W) of k x n, in every step's product: packed once, unless so few sequences run at a time that
// gemm reads them faster where they lie. Decided by the whole batch, so that cutting it for threads changes no sum's order.
//
// Measured on one thread of Zen 5, microseconds of a forward LSTM layer: this one with all around it (the input's product, tensors,
// Python) | oneDNN 2.6's fused layer alone + its packing of the weights. So no layer goes to oneDNN.
//   32 steps of 32 sequences, 64 -> 128     1135 |  1147 + 46
//   16 steps of 64 sequences, 256 -> 512   17464 | 17315 + 1345
//   20 steps of 256 sequences, 16 -> 32      571 |   584 + 3
//   32 steps of 1 sequence, 64 -> 128        121 |   116 + 29      (weights where they lie)
//   16 steps of 1 sequence, 512 -> 512      1259 |  1627 + 1786    (weights where they lie)
template <class T> class Weights {
 public:
  Weights(ScalarType dtype, bool trans, int64_t n, int64_t k, const void* w, int64_t ld, bool keep_packed)
      : dtype_(dtype), trans_(trans), n_(n), k_(k), w_(in<T>(w)), ld_(ld), keeps_(keep_packed), packed_(keeps_ ? Kernels<T>::packed_size()(n, k) : 0) {
    if (keeps_) Kernels<T>::pack()(trans_, n_, k_, w_, ld_, packed_.data);
  }
  // c = a * op(W) + beta * c for dense rows.
  void multiply(int64_t rows, const T* a, T beta, T* c) const {
    if (keeps_) return Kernels<T>::multiply()(rows, n_, k_, a, k_, packed_.data, beta, c, n_, nullptr, false);
    gemm(dtype_, false, trans_, rows, n_, k_, 1, a, k_, w_, ld_, static_cast<double>(beta), c, n_);
  }

 private:
  ScalarType dtype_;
  bool trans_;
  int64_t n_, k_;
  const T* w_;
  int64_t ld_;
  bool keeps_;
  AlignedBuffer<T> packed_;
};
constexpr int64_t kThinForward = 16, kThinBackward = 4;

// Calls f(begin, end) on pieces of the batch: a sequence passes all steps on one thread.
template <class F> void for_sequences(const RnnShape& s, const std::vector<Step>& steps, F&& f) {
  constexpr double kGrainFlops = 4e6;
  const double each = 2.0 * static_cast<double>(steps.size()) * static_cast<double>(rnn_gates(s.kind) * s.hidden) * static_cast<double>(s.hidden);
  parallel_for(0, batch_of(s), std::max<int64_t>(kThinForward, static_cast<int64_t>(kGrainFlops / each)), f);
}

template <class T> void forward(const RnnShape& s, const RnnLayer& a) {
  const int64_t H = s.hidden, G = rnn_gates(s.kind) * H, B = batch_of(s);
  const T* gates = in<T>(a.gates);
  T *h = out<T>(a.hn), *c = out<T>(a.cn), *y = out<T>(a.out), *saved = out<T>(a.saved), *cells = out<T>(a.cells);
  std::copy_n(in<T>(a.hx), B * H, h);
  if (s.kind == RnnKind::lstm) std::copy_n(in<T>(a.cx), B * H, c);
  const AlignedBuffer<T> no_bias(a.bias ? 0 : G), hidden_gates(s.kind == RnnKind::gru ? B * G : 0);
  if (!a.bias) std::fill_n(no_bias.data, G, T(0));
  const T* const bias = a.bias ? in<T>(a.bias) : no_bias.data;
  const Weights<T> weights(s.dtype, true, G, H, a.weight, H, B > kThinForward);
  const std::vector<Step> steps = steps_of(s);
  for_sequences(s, steps, [&](int64_t begin, int64_t end) {
    T *const h_now = h + begin * H, *const c_now = c + begin * H;
    for (const Step& t : steps) {
      const int64_t rows = std::min(end, t.rows) - begin, first = t.first + begin;
      if (rows <= 0) continue;
      const T* const x = gates + first * G;
      T* const to = y + first * H;
      // The hidden state's part goes where the gates are kept, or stays apart.
      T* const part = s.kind == RnnKind::lstm ? saved + first * G : s.kind == RnnKind::gru ? hidden_gates.data + begin * G : to;
      weights.multiply(rows, h_now, T(0), part);
      switch (s.kind) {
        case RnnKind::lstm: Kernels<T>::lstm()(rows, H, x, bias, part, c_now, cells + first * H, to, h_now); break;
        case RnnKind::gru: Kernels<T>::gru()(rows, H, x, bias, part, h_now, to, saved + first * 4 * H); break;
        default: Kernels<T>::rnn()(rows, H, s.kind == RnnKind::relu, x, bias, part, h_now);
      }
    }
  });
}

template <class T> void backward(const RnnShape& s, const RnnLayerBackward& a) {
  const int64_t H = s.hidden, G = rnn_gates(s.kind) * H, B = batch_of(s);
  const std::vector<Step> steps = steps_of(s);
  int64_t N = 0;
  for (const Step& t : steps) N += t.rows;
  const T *y = in<T>(a.out), *saved = in<T>(a.saved), *cells = in<T>(a.cells), *d_out = in<T>(a.d_out), *hx = in<T>(a.hx), *cx = in<T>(a.cx);
  T *dh = out<T>(a.d_hx), *dc = out<T>(a.d_cx), *d_gates = out<T>(a.d_gates);
  const auto start = [&](T* to, const void* from) { from ? std::copy_n(in<T>(from), B * H, to) : std::fill_n(to, B * H, T(0)); };
  start(dh, a.d_hn);
  if (s.kind == RnnKind::lstm) start(dc, a.d_cn);
  // The states before the steps, and for a GRU the gradients of the hidden state's part of the gates.
  const AlignedBuffer<T> before(N * H), apart(s.kind == RnnKind::gru ? N * G : 0);
  T* const d_hidden = s.kind == RnnKind::gru ? apart.data : d_gates;
  const Weights<T> weights(s.dtype, false, H, G, a.weight, H, B > kThinBackward);
  for_sequences(s, steps, [&](int64_t begin, int64_t end) {
    T *const dh_now = dh + begin * H, *const dc_now = dc + begin * H;
    for (size_t i = steps.size(); i-- > 0;) {
      const Step& t = steps[i];
      const int64_t rows = std::min(end, t.rows) - begin, first = t.first + begin;
      if (rows <= 0) continue;
      // Of these rows the step before had the first `kept`; the others started from the initial state.
      const int64_t kept = std::clamp<int64_t>(t.before_rows - begin, 0, rows), source = t.before_first + begin;
      T* const h_before = before.data + first * H;
      std::copy_n(y + source * H, kept * H, h_before);
      std::copy_n(hx + (begin + kept) * H, (rows - kept) * H, h_before + kept * H);
      const T* const from_out = d_out ? d_out + first * H : nullptr;
      T *const dx = d_gates + first * G, *const dg = d_hidden + first * G;
      const auto lstm_rows = [&](int64_t r0, int64_t r1, const T* c_before) {
        Kernels<T>::lstm_backward()(r1 - r0, H, saved + (first + r0) * G, cells + (first + r0) * H, c_before, dh_now + r0 * H,
                                    from_out ? from_out + r0 * H : nullptr, dc_now + r0 * H, dx + r0 * G);
      };
      switch (s.kind) {
        case RnnKind::lstm:
          lstm_rows(0, kept, cells + source * H);
          lstm_rows(kept, rows, cx + (begin + kept) * H);
          break;
        case RnnKind::gru: Kernels<T>::gru_backward()(rows, H, saved + first * 4 * H, h_before, from_out, dh_now, dx, dg); break;
        default: Kernels<T>::rnn_backward()(rows * H, s.kind == RnnKind::relu, y + first * H, dh_now, from_out, dx);
      }
      weights.multiply(rows, dg, s.kind == RnnKind::gru ? T(1) : T(0), dh_now);
    }
  });
  gemm(s.dtype, true, false, G, H, N, 1, d_hidden, G, before.data, H, 0, a.d_weight, H);
  Kernels<T>::column_sums()(N, G, d_hidden, out<T>(a.d_bias));
}

}  // namespace

void rnn_layer(const RnnShape& s, const RnnLayer& layer) { s.dtype == ScalarType::Float ? forward<float>(s, layer) : forward<double>(s, layer); }
void rnn_layer_backward(const RnnShape& s, const RnnLayerBackward& layer) {
  s.dtype == ScalarType::Float ? backward<float>(s, layer) : backward<double>(s, layer);
}

}  // namespace cresset::kernels
