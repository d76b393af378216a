// Recurrent networks over kernels/sequence/rnn.h.

#include "cresset/kernels/sequence/rnn.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "cresset/dispatch/parts.h"
#include "cresset/ops/bodies_rnn.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/operands.h"

namespace cresset::ops {

namespace {

using kernels::RnnKind;

const void* data(const std::optional<Tensor>& t) { return given(t) ? t->data_ptr() : nullptr; }
Tensor dense(const std::optional<Tensor>& t) { return given(t) ? t->contiguous() : Tensor(); }
int64_t rows_in(IntArrayRef batch_sizes) { return std::accumulate(batch_sizes.begin(), batch_sizes.end(), int64_t{0}); }

kernels::RnnShape shape_of(const Tensor& hx, IntArrayRef batch_sizes, int64_t kind, bool reverse) {
  return {static_cast<RnnKind>(kind), hx.scalar_type(), reverse, batch_sizes, hx.size(1)};
}

// Kernels trust shapes and dtypes, and files call rows by name: all arguments of a layer are checked here.
void check_layer(const char* name, const Tensor& gates, const Tensor& weight_hh, const std::optional<Tensor>& bias_hh, const Tensor& hx,
                 const std::optional<Tensor>& cx, IntArrayRef batch_sizes, int64_t kind) {
  CRESSET_CHECK_NOT_IMPLEMENTED(gates.scalar_type() == kFloat || gates.scalar_type() == kDouble, name, ": not implemented for dtype ", gates.scalar_type());
  CRESSET_CHECK_VALUE(kind >= 0 && kind <= static_cast<int64_t>(RnnKind::gru), name, ": unknown kind of network, got ", kind);
  const bool is_lstm = kind == static_cast<int64_t>(RnnKind::lstm);
  CRESSET_CHECK(hx.dim() == 2 && gates.dim() == 2, name, ": expected matrices, got gates of shape ", gates.sizes(), " and hx of shape ", hx.sizes());
  const int64_t batch = hx.size(0), hidden = hx.size(1), g = kernels::rnn_gates(static_cast<RnnKind>(kind)) * hidden, rows = rows_in(batch_sizes);
  CRESSET_CHECK(!batch_sizes.empty() && batch_sizes[0] == batch && std::is_sorted(batch_sizes.begin(), batch_sizes.end(), std::greater<int64_t>()) &&
                    batch_sizes.back() >= 0,
                name, ": batch sizes must not grow and start with that of hx, ", batch, ", got ", batch_sizes);
  CRESSET_CHECK(gates.sizes() == IntArrayRef({rows, g}) && weight_hh.sizes() == IntArrayRef({g, hidden}) &&
                    (!given(bias_hh) || bias_hh->sizes() == IntArrayRef({g})) && (!is_lstm || (given(cx) && cx->sizes() == hx.sizes())),
                name, ": shapes do not fit, got gates ", gates.sizes(), ", weight_hh ", weight_hh.sizes(), ", hx ", hx.sizes());
  for (const Tensor& t : {weight_hh, hx, bias_hh.value_or(Tensor()), is_lstm ? *cx : Tensor()})
    CRESSET_CHECK(!t.defined() || t.scalar_type() == gates.scalar_type(), name, ": expected one dtype, got ", gates.scalar_type(), " and ", t.scalar_type());
}

}  // namespace

namespace meta {

OutSpecs _rnn_layer(const Tensor& gates, const Tensor& weight_hh, const std::optional<Tensor>& bias_hh, const Tensor& hx, const std::optional<Tensor>& cx,
                    IntArrayRef batch_sizes, int64_t kind, bool) {
  check_layer("_rnn_layer", gates, weight_hh, bias_hh, hx, cx, batch_sizes, kind);
  const bool is_lstm = kind == static_cast<int64_t>(RnnKind::lstm);
  const int64_t batch = hx.size(0), hidden = hx.size(1), rows = rows_in(batch_sizes);
  const auto spec = [&](DimVector sizes) { return OutSpec{std::move(sizes), gates.scalar_type(), gates.device()}; };
  const bool saves = is_lstm || kind == static_cast<int64_t>(RnnKind::gru);
  return {spec({rows, hidden}), spec({batch, hidden}), is_lstm ? spec({batch, hidden}) : spec({0}), saves ? spec({rows, 4 * hidden}) : spec({0}),
          is_lstm ? spec({rows, hidden}) : spec({0})};
}

OutSpecs _rnn_layer_backward(const std::optional<Tensor>& grad_output, const std::optional<Tensor>& grad_hn, const std::optional<Tensor>& grad_cn,
                             const Tensor& gates, const Tensor& weight_hh, const std::optional<Tensor>& bias_hh, const Tensor& hx,
                             const std::optional<Tensor>& cx, const Tensor& output, const Tensor& saved, const Tensor& cells, IntArrayRef batch_sizes,
                             int64_t kind, bool reverse) {
  const OutSpecs forward = meta::_rnn_layer(gates, weight_hh, bias_hh, hx, cx, batch_sizes, kind, reverse);
  const std::optional<Tensor> results[] = {grad_output, grad_hn, grad_cn, output, saved, cells};
  constexpr size_t kResult[] = {0, 1, 2, 0, 3, 4};
  for (size_t i = 0; i < 6; i++) {
    const bool fits = !given(results[i]) || (IntArrayRef(forward[kResult[i]].sizes) == results[i]->sizes() && results[i]->scalar_type() == gates.scalar_type());
    CRESSET_CHECK(fits, "_rnn_layer_backward: expected the shape ", IntArrayRef(forward[kResult[i]].sizes), " and dtype ", gates.scalar_type(),
                  " of the result ", kResult[i], ", got ", results[i]->scalar_type(), " of shape ", results[i]->sizes());
  }
  const auto like = [&](IntArrayRef sizes) { return OutSpec{DimVector(sizes), gates.scalar_type(), gates.device()}; };
  return {like(gates.sizes()), like(weight_hh.sizes()), like(weight_hh.size(0)), like(hx.sizes()), given(cx) ? like(cx->sizes()) : like({0})};
}

}  // namespace meta

namespace cpu {

void _rnn_layer(const Tensor& gates, const Tensor& weight_hh, const std::optional<Tensor>& bias_hh, const Tensor& hx, const std::optional<Tensor>& cx,
                IntArrayRef batch_sizes, int64_t kind, bool reverse, const Tensor& out, const Tensor& hn, const Tensor& cn, const Tensor& saved,
                const Tensor& cells) {
  const Tensor g = gates.contiguous(), w = weight_hh.contiguous(), b = dense(bias_hh), h = hx.contiguous(), c = dense(cx);
  kernels::rnn_layer(shape_of(hx, batch_sizes, kind, reverse), {g.data_ptr(), w.data_ptr(), data(b), h.data_ptr(), data(c), out.data_ptr(), hn.data_ptr(),
                                                                cn.data_ptr(), saved.data_ptr(), cells.data_ptr()});
}

void _rnn_layer_backward(const std::optional<Tensor>& grad_output, const std::optional<Tensor>& grad_hn, const std::optional<Tensor>& grad_cn, const Tensor&,
                         const Tensor& weight_hh, const std::optional<Tensor>&, const Tensor& hx, const std::optional<Tensor>& cx, const Tensor& output,
                         const Tensor& saved, const Tensor& cells, IntArrayRef batch_sizes, int64_t kind, bool reverse, const Tensor& d_gates,
                         const Tensor& d_weight, const Tensor& d_bias, const Tensor& d_hx, const Tensor& d_cx) {
  const Tensor go = dense(grad_output), gh = dense(grad_hn), gc = kind == static_cast<int64_t>(RnnKind::lstm) ? dense(grad_cn) : Tensor();
  const Tensor w = weight_hh.contiguous(), h = hx.contiguous(), c = dense(cx), y = output.contiguous(), s = saved.contiguous(), k = cells.contiguous();
  kernels::rnn_layer_backward(shape_of(hx, batch_sizes, kind, reverse),
                              {data(go), data(gh), data(gc), w.data_ptr(), h.data_ptr(), data(c), y.data_ptr(), s.data_ptr(), k.data_ptr(), d_gates.data_ptr(),
                               d_weight.data_ptr(), d_bias.data_ptr(), d_hx.data_ptr(), d_cx.data_ptr()});
}

}  // namespace cpu

namespace composite {

namespace {

struct States {
  Tensor hidden, cell;
};

// The weights of one layer in one direction; biases and projection may be undefined.
struct Weights {
  Tensor ih, hh, bias_ih, bias_hh, projection;
};

// Where a dispatch mode hears the parts, networks go step by step, and write into results of their own as PyTorch does: the mode hears the same operators
// (docs/records/0019-dispatch-modes.md).
Tensor plus(const Tensor& own, const Tensor& other) { return dispatch::wants_parts() ? own.add_(other) : own + other; }
Tensor sum_into(const Tensor& other, const Tensor& own) { return dispatch::wants_parts() ? own.add_(other) : other + own; }
Tensor times(const Tensor& own, const Tensor& other) { return dispatch::wants_parts() ? own.mul_(other) : own * other; }
Tensor product_into(const Tensor& other, const Tensor& own) { return dispatch::wants_parts() ? own.mul_(other) : other * own; }
Tensor sigmoid_of(const Tensor& own) { return dispatch::wants_parts() ? own.sigmoid_() : own.sigmoid(); }
Tensor tanh_of(const Tensor& own) { return dispatch::wants_parts() ? own.tanh_() : own.tanh(); }
std::vector<Tensor> parts(const Tensor& own, int64_t n) { return dispatch::wants_parts() ? cresset::unsafe_split(own, own.size(1) / n, 1) : own.chunk(n, 1); }

// The rest of a step, from the sums of both parts of the gates; a GRU's parts are not added.
States opened(RnnKind kind, const Weights& w, const Tensor& sums, const States& s) {
  if (kind == RnnKind::tanh) return {sums.tanh(), Tensor()};
  if (kind == RnnKind::relu) return {cresset::relu(sums), Tensor()};
  const auto gates = parts(sums, 4);
  const Tensor in = sigmoid_of(gates[0]), forget = sigmoid_of(gates[1]), fresh = tanh_of(gates[2]), out = sigmoid_of(gates[3]);
  const Tensor kept = forget * s.cell, cell = plus(kept, in * fresh);
  Tensor hidden = out * cell.tanh();
  if (w.projection.defined()) hidden = hidden.matmul(w.projection.t());
  return {hidden, cell};
}

// One step. `from_input` is the input's part of all gates: input * ih^T + bias_ih.
States advance(RnnKind kind, const Weights& w, const Tensor& from_input, const States& s) {
  if (kind == RnnKind::gru) {
    std::vector<Tensor> x;
    if (dispatch::wants_parts()) x = parts(from_input, 3);
    const Tensor from_hidden = cresset::linear(s.hidden, w.hh, w.bias_hh);
    if (x.empty()) x = parts(from_input, 3);
    const auto h = parts(from_hidden, 3);
    const Tensor reset = sigmoid_of(sum_into(x[0], h[0])), update = sigmoid_of(sum_into(x[1], h[1]));
    const Tensor fresh = tanh_of(x[2] + product_into(reset, h[2]));
    return {plus(times(s.hidden - fresh, update), fresh), Tensor()};
  }
  return opened(kind, w, sum_into(from_input, cresset::linear(s.hidden, w.hh, w.bias_hh)), s);
}

// The states of the sequences that a step of `rows` sequences works on: fewer than the last step's, or more with initial ones.
Tensor resized(const Tensor& state, const Tensor& initial, int64_t rows) {
  const int64_t now = state.size(0);
  if (rows <= now) return rows < now ? state.narrow(0, 0, rows) : state;
  return cresset::cat({state, initial.narrow(0, now, rows - now)});
}

struct Network {
  const char* name;
  RnnKind kind;
  bool has_biases, bidirectional;
  int64_t num_layers;
  double dropout;
  bool train;

  int64_t directions() const { return bidirectional ? 2 : 1; }
};

std::vector<Weights> group_weights(const Network& net, TensorList flat, bool projects) {
  const size_t each = 2 + (net.has_biases ? 2u : 0u) + (projects ? 1u : 0u), wanted = static_cast<size_t>(net.num_layers * net.directions()) * each;
  CRESSET_CHECK(flat.size() == wanted, net.name, ": expected ", wanted, " weights for ", net.num_layers, " layers and ", net.directions(), " directions, got ",
                flat.size());
  std::vector<Weights> all;
  for (size_t i = 0; i < flat.size();) {
    Weights w;
    w.ih = flat[i++];
    w.hh = flat[i++];
    if (net.has_biases) {
      w.bias_ih = flat[i++];
      w.bias_hh = flat[i++];
    }
    if (projects) w.projection = flat[i++];
    all.push_back(w);
  }
  return all;
}

// One layer in one direction over packed rows: all states in their order, and the last ones.
std::pair<Tensor, States> run_layer(RnnKind kind, const Weights& w, const Tensor& rows, const States& s, IntArrayRef batch_sizes, bool reverse) {
  // A region of mixed precision casts what the linear maps take, and the states that they meet stay as they are.
  const LayerState& layers = layer_state();
  const bool mixes = layers.included & ~layers.excluded & layer_bit(Layer::Autocast);
  const bool fused = !mixes && !dispatch::wants_parts() && !w.projection.defined() && rows.is_cpu() &&
                     (rows.scalar_type() == kFloat || rows.scalar_type() == kDouble) && w.ih.scalar_type() == rows.scalar_type() &&
                     w.hh.scalar_type() == rows.scalar_type() && s.hidden.scalar_type() == rows.scalar_type();
  const int64_t number = static_cast<int64_t>(kind);
  const bool is_lstm = kind == RnnKind::lstm;
  // Both biases in one, added with the gates' functions; a GRU's hidden part needs its own.
  const bool joins = fused && kind != RnnKind::gru && w.bias_ih.defined() && w.bias_hh.defined();
  const Tensor bias = joins ? w.bias_ih + w.bias_hh : w.bias_hh;
  // The input's part of the gates does not wait for the recurrence.
  const Tensor gates = cresset::linear(rows, w.ih, joins ? Tensor() : w.bias_ih);
  if (!fused) {
    auto [out, hn, cn] = cresset::_rnn_layer_by_steps(gates, w.hh, bias, w.projection, s.hidden, s.cell, batch_sizes, number, reverse);
    return {out, {hn, is_lstm ? cn : Tensor()}};
  }
  auto [out, hn, cn, saved, cells] = cresset::_rnn_layer(gates, w.hh, bias, s.hidden, s.cell, batch_sizes, number, reverse);
  return {out, {hn, is_lstm ? cn : Tensor()}};
}

// All layers over packed rows. States are (layers * directions, batch, size).
std::pair<Tensor, States> run_network(const Network& net, TensorList params, const Tensor& rows, const States& initial, IntArrayRef batch_sizes) {
  const bool is_lstm = net.kind == RnnKind::lstm;
  const int64_t states = net.num_layers * net.directions(), batch = batch_sizes.empty() ? 0 : batch_sizes[0];
  const bool projects = is_lstm && initial.cell.dim() == 3 && initial.hidden.size(-1) != initial.cell.size(-1);
  const std::vector<Weights> weights = group_weights(net, params, projects);
  CRESSET_CHECK(rows.size(-1) == weights[0].ih.size(1), net.name, ": input.size(-1) must be equal to input_size, expected ", weights[0].ih.size(1), ", got ",
                rows.size(-1));
  const int64_t hidden = projects ? weights[0].projection.size(0) : weights[0].hh.size(1);
  CRESSET_CHECK(initial.hidden.sizes() == IntArrayRef({states, batch, hidden}), net.name, ": expected hidden size (", states, ", ", batch, ", ", hidden,
                "), got ", initial.hidden.sizes());
  if (is_lstm)
    CRESSET_CHECK(initial.cell.sizes() == IntArrayRef({states, batch, weights[0].ih.size(0) / 4}), net.name, ": expected cell size (", states, ", ", batch,
                  ", ", weights[0].ih.size(0) / 4, "), got ", initial.cell.sizes());
  std::vector<Tensor> last_hidden, last_cell;
  Tensor current = rows;
  for (int64_t layer = 0; layer < net.num_layers; layer++) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < net.directions(); d++) {
      const int64_t i = layer * net.directions() + d;
      auto [output, last] = run_layer(net.kind, weights[static_cast<size_t>(i)], current,
                                      {initial.hidden.select(0, i), is_lstm ? initial.cell.select(0, i) : Tensor()}, batch_sizes, d == 1);
      outputs.push_back(output);
      last_hidden.push_back(last.hidden);
      if (is_lstm) last_cell.push_back(last.cell);
    }
    current = outputs.size() == 1 ? outputs[0] : cresset::cat(outputs, 1);
    if (net.dropout > 0 && layer + 1 < net.num_layers) current = cresset::dropout(current, net.dropout, net.train);
  }
  return {current, {cresset::stack(last_hidden), is_lstm ? cresset::stack(last_cell) : Tensor()}};
}

std::pair<Tensor, States> run_padded(const Network& net, const Tensor& input, const States& initial, TensorList params, bool batch_first) {
  CRESSET_CHECK(input.dim() == 3, net.name, ": expected a batch of sequences with 3 dimensions, got shape ", input.sizes());
  const Tensor x = batch_first ? input.transpose(0, 1) : input;
  CRESSET_CHECK(x.size(0) > 0, net.name, ": expected sequence length to be larger than 0, got shape ", input.sizes());
  const std::vector<int64_t> batch_sizes(static_cast<size_t>(x.size(0)), x.size(1));
  auto [rows, last] = run_network(net, params, x.reshape({x.size(0) * x.size(1), x.size(2)}), initial, batch_sizes);
  const Tensor out = rows.view({x.size(0), x.size(1), rows.size(1)});
  return {batch_first ? out.transpose(0, 1) : out, last};
}

std::pair<Tensor, States> run_packed(const Network& net, const Tensor& data, const Tensor& batch_sizes, const States& initial, TensorList params) {
  CRESSET_CHECK(data.dim() == 2, net.name, ": expected packed data with 2 dimensions, got shape ", data.sizes());
  const Tensor sizes = batch_sizes.cpu().to(kLong).contiguous();
  CRESSET_CHECK(sizes.dim() == 1 && sizes.numel() > 0, net.name, ": expected batch_sizes with 1 dimension, got shape ", batch_sizes.sizes());
  return run_network(net, params, data, initial, {sizes.data_ptr<int64_t>(), static_cast<size_t>(sizes.numel())});
}

States lstm_states(TensorList hx) {
  CRESSET_CHECK(hx.size() == 2, "lstm: expected two hidden states, got ", hx.size());
  return {hx[0], hx[1]};
}

States run_cell(const char* name, RnnKind kind, const Tensor& input, const States& s, const Tensor& w_ih, const Tensor& w_hh, const std::optional<Tensor>& b_ih,
                const std::optional<Tensor>& b_hh) {
  CRESSET_CHECK(input.dim() == 2 && input.size(1) == w_ih.size(1), name, ": input has another input_size, got shape ", input.sizes(), ", expected (batch, ",
                w_ih.size(1), ")");
  CRESSET_CHECK(s.hidden.dim() == 2 && s.hidden.size(0) == input.size(0), name, ": input batch size ", input.size(0), " doesn't match hidden state of shape ",
                s.hidden.sizes());
  CRESSET_CHECK(s.hidden.size(1) == w_hh.size(1), name, ": hidden state has inconsistent hidden_size: got ", s.hidden.size(1), ", expected ", w_hh.size(1));
  const int64_t gates = kernels::rnn_gates(kind) * s.hidden.size(1);
  CRESSET_CHECK(w_ih.dim() == 2 && w_hh.dim() == 2 && w_ih.size(0) == gates && w_hh.size(0) == gates, name, ": expected ", gates,
                " rows of both weights for hidden states of size ", s.hidden.size(1), ", got weights of shapes ", w_ih.sizes(), " and ", w_hh.sizes());
  CRESSET_CHECK(kind != RnnKind::lstm || s.cell.sizes() == s.hidden.sizes(), name, ": expected a cell state of shape ", s.hidden.sizes(), ", got ",
                s.cell.sizes());
  const Weights w{w_ih, w_hh, b_ih.value_or(Tensor()), b_hh.value_or(Tensor()), Tensor()};
  if (kind != RnnKind::gru && dispatch::wants_parts()) {  // the hidden part comes first then
    const Tensor from_hidden = cresset::linear(s.hidden, w.hh, w.bias_hh);
    return opened(kind, w, plus(cresset::linear(input, w.ih, w.bias_ih), from_hidden), s);
  }
  return run_layer(kind, w, input, s, {input.size(0)}, false).second;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _rnn_layer_by_steps(const Tensor& gates, const Tensor& weight_hh, const std::optional<Tensor>& bias_hh,
                                                       const std::optional<Tensor>& weight_hr, const Tensor& hx, const std::optional<Tensor>& cx,
                                                       IntArrayRef batch_sizes, int64_t kind_number, bool reverse) {
  const RnnKind kind = static_cast<RnnKind>(kind_number);
  const bool is_lstm = kind == RnnKind::lstm;
  CRESSET_CHECK_VALUE(kind_number >= 0 && kind_number <= static_cast<int64_t>(RnnKind::gru), "_rnn_layer_by_steps: unknown kind of network, got ", kind_number);
  CRESSET_CHECK(!batch_sizes.empty() && gates.dim() == 2 && hx.dim() == 2 && (!is_lstm || (given(cx) && cx->dim() == 2)) &&
                    gates.size(1) == kernels::rnn_gates(kind) * (is_lstm ? *cx : hx).size(1),
                "_rnn_layer_by_steps: shapes do not fit, got gates ", gates.sizes(), ", hx ", hx.sizes(), " and batch sizes ", batch_sizes);
  const Weights w{Tensor(), weight_hh, Tensor(), bias_hh.value_or(Tensor()), weight_hr.value_or(Tensor())};
  const std::vector<Tensor> inputs = batch_sizes.size() == 1 ? std::vector<Tensor>{gates} : gates.split_with_sizes(batch_sizes);
  const size_t n = inputs.size();
  std::vector<Tensor> outputs(n), ended_hidden, ended_cell;
  const auto first_rows = [&](const Tensor& t) { return n == 1 ? t : t.narrow(0, 0, batch_sizes[reverse ? n - 1 : 0]); };
  States s{first_rows(hx), is_lstm ? first_rows(*cx) : Tensor()};
  for (size_t i = 0; i < n; i++) {
    const size_t at = reverse ? n - 1 - i : i;
    const int64_t rows = batch_sizes[at], now = s.hidden.size(0);
    if (rows < now) {
      ended_hidden.push_back(s.hidden.narrow(0, rows, now - rows));
      if (is_lstm) ended_cell.push_back(s.cell.narrow(0, rows, now - rows));
    }
    s.hidden = resized(s.hidden, hx, rows);
    if (is_lstm) s.cell = resized(s.cell, *cx, rows);
    s = advance(kind, w, inputs[at], s);
    outputs[at] = s.hidden;
  }
  // Sequences that ended early come after those that did not.
  const auto all = [](const Tensor& last, std::vector<Tensor>& ended) {
    if (ended.empty()) return last;
    ended.push_back(last);
    std::reverse(ended.begin(), ended.end());
    return cresset::cat(ended);
  };
  return {n == 1 ? outputs[0] : cresset::cat(outputs), all(s.hidden, ended_hidden), is_lstm ? all(s.cell, ended_cell) : s.hidden};
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params, bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first) {
  auto [out, last] = run_padded({"lstm", RnnKind::lstm, has_biases, bidirectional, num_layers, dropout, train}, input, lstm_states(hx), params, batch_first);
  return {out, last.hidden, last.cell};
}
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, TensorList hx, TensorList params, bool has_biases, int64_t num_layers,
                                        double dropout, bool train, bool bidirectional) {
  auto [out, last] = run_packed({"lstm", RnnKind::lstm, has_biases, bidirectional, num_layers, dropout, train}, data, batch_sizes, lstm_states(hx), params);
  return {out, last.hidden, last.cell};
}
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh, const std::optional<Tensor>& b_ih,
                                     const std::optional<Tensor>& b_hh) {
  const States s = run_cell("lstm_cell", RnnKind::lstm, input, lstm_states(hx), w_ih, w_hh, b_ih, b_hh);
  return {s.hidden, s.cell};
}

#define CRESSET_ONE_STATE(name, kind)                                                                                                                        \
  std::tuple<Tensor, Tensor> name(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers, double dropout, bool train, \
                                  bool bidirectional, bool batch_first) {                                                                                    \
    auto [out, last] = run_padded({#name, kind, has_biases, bidirectional, num_layers, dropout, train}, input, {hx, Tensor()}, params, batch_first);         \
    return {out, last.hidden};                                                                                                                               \
  }                                                                                                                                                          \
  std::tuple<Tensor, Tensor> name(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers,   \
                                  double dropout, bool train, bool bidirectional) {                                                                          \
    auto [out, last] = run_packed({#name, kind, has_biases, bidirectional, num_layers, dropout, train}, data, batch_sizes, {hx, Tensor()}, params);          \
    return {out, last.hidden};                                                                                                                               \
  }                                                                                                                                                          \
  Tensor name##_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const std::optional<Tensor>& b_ih,                       \
                     const std::optional<Tensor>& b_hh) {                                                                                                    \
    return run_cell(#name "_cell", kind, input, {hx, Tensor()}, w_ih, w_hh, b_ih, b_hh).hidden;                                                              \
  }
CRESSET_ONE_STATE(gru, RnnKind::gru)
CRESSET_ONE_STATE(rnn_tanh, RnnKind::tanh)
CRESSET_ONE_STATE(rnn_relu, RnnKind::relu)
#undef CRESSET_ONE_STATE

}  // namespace composite

}  // namespace cresset::ops
