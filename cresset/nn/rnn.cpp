#include "cresset/nn/rnn.h"

#include <cmath>
#include <ostream>

#include "cresset/nn/init.h"

namespace cresset::nn {

namespace detail {

namespace {

struct States {
  Tensor hidden, cell;
};

// The weights of one layer in one direction; biases and projection may be undefined.
struct Weights {
  Tensor ih, hh, bias_ih, bias_hh, projection;
};

// One step. `from_input` is the input's part of all gates: input * ih^T + bias_ih.
States advance(RnnKind kind, const Weights& w, const Tensor& from_input, const States& s) {
  const Tensor from_hidden = cresset::linear(s.hidden, w.hh, w.bias_hh);
  if (kind == RnnKind::tanh) return {(from_input + from_hidden).tanh(), Tensor()};
  if (kind == RnnKind::relu) return {cresset::relu(from_input + from_hidden), Tensor()};
  if (kind == RnnKind::gru) {
    const auto x = from_input.chunk(3, 1), h = from_hidden.chunk(3, 1);
    const Tensor reset = (x[0] + h[0]).sigmoid(), update = (x[1] + h[1]).sigmoid(), fresh = (x[2] + reset * h[2]).tanh();
    return {(s.hidden - fresh) * update + fresh, Tensor()};
  }
  const auto gates = (from_input + from_hidden).chunk(4, 1);
  const Tensor cell = gates[1].sigmoid() * s.cell + gates[0].sigmoid() * gates[2].tanh();
  Tensor hidden = gates[3].sigmoid() * cell.tanh();
  if (w.projection.defined()) hidden = hidden.matmul(w.projection.t());
  return {hidden, cell};
}

// One layer in one direction over (length, batch, features): the hidden state at all times, and the last states.
std::pair<Tensor, States> run_direction(RnnKind kind, const Weights& w, const Tensor& input, States s, bool backward) {
  // The input's part of the gates does not wait for the recurrence.
  const auto inputs = cresset::linear(input, w.ih, w.bias_ih).unbind(0);
  std::vector<Tensor> outputs(inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    const size_t at = backward ? inputs.size() - 1 - i : i;
    s = advance(kind, w, inputs[at], s);
    outputs[at] = s.hidden;
  }
  return {cresset::stack(outputs), s};
}

std::vector<Weights> group_weights(const RnnShape& shape, const std::vector<Tensor>& flat) {
  std::vector<Weights> all;
  for (size_t i = 0; i < flat.size();) {
    Weights w;
    w.ih = flat[i++];
    w.hh = flat[i++];
    if (shape.bias) {
      w.bias_ih = flat[i++];
      w.bias_hh = flat[i++];
    }
    if (shape.proj_size > 0) w.projection = flat[i++];
    all.push_back(w);
  }
  return all;
}

Tensor initial_state(const char* what, const Tensor& given, const std::vector<int64_t>& sizes, const Tensor& input) {
  if (!given.defined()) return cresset::zeros(sizes, input.options().requires_grad(false));
  const Tensor state = given.dim() == 2 ? given.unsqueeze(1) : given;
  CRESSET_CHECK(state.sizes() == IntArrayRef(sizes), "rnn: shape of the initial ", what, " state, got ", given.sizes(), ", expected ", IntArrayRef(sizes));
  return state;
}

// The whole network. An undefined state is zeros.
std::pair<Tensor, States> run_network(const RnnShape& shape, const std::vector<Tensor>& flat, const Tensor& given, States initial, bool training) {
  CRESSET_CHECK(given.dim() == 2 || given.dim() == 3, "rnn: input must have 2 or 3 dimensions, got shape ", given.sizes());
  CRESSET_CHECK(given.size(-1) == shape.input_size, "rnn: size of the input's last dimension, got ", given.size(-1), ", expected ", shape.input_size);
  const bool batched = given.dim() == 3;
  const Tensor input = !batched ? given.unsqueeze(1) : shape.batch_first ? given.transpose(0, 1) : given;
  CRESSET_CHECK(input.size(0) > 0, "rnn: the sequence is empty, got shape ", given.sizes());
  const int64_t states = shape.num_layers * shape.directions(), batch = input.size(1);
  const Tensor hidden = initial_state("hidden", initial.hidden, {states, batch, shape.output_size()}, input);
  const bool is_lstm = shape.kind == RnnKind::lstm;
  const Tensor cell = is_lstm ? initial_state("cell", initial.cell, {states, batch, shape.hidden_size}, input) : Tensor();

  const std::vector<Weights> weights = group_weights(shape, flat);
  std::vector<Tensor> last_hidden, last_cell;
  Tensor current = input;
  for (int64_t layer = 0; layer < shape.num_layers; layer++) {
    std::vector<Tensor> directions;
    for (int64_t d = 0; d < shape.directions(); d++) {
      const int64_t i = layer * shape.directions() + d;
      auto [output, last] = run_direction(shape.kind, weights[static_cast<size_t>(i)], current,
                                          {hidden.select(0, i), is_lstm ? cell.select(0, i) : Tensor()}, d == 1);
      directions.push_back(output);
      last_hidden.push_back(last.hidden);
      if (is_lstm) last_cell.push_back(last.cell);
    }
    current = directions.size() == 1 ? directions[0] : cresset::cat(directions, 2);
    if (shape.dropout > 0 && layer + 1 < shape.num_layers) current = cresset::dropout(current, shape.dropout, training);
  }
  States end{cresset::stack(last_hidden), is_lstm ? cresset::stack(last_cell) : Tensor()};
  if (!batched) {
    current = current.squeeze(1);
    end.hidden = end.hidden.squeeze(1);
    if (is_lstm) end.cell = end.cell.squeeze(1);
  } else if (shape.batch_first) {
    current = current.transpose(0, 1);
  }
  return {current, end};
}

void print_network(std::ostream& stream, const char* name, const RnnShape& s) {
  stream << std::boolalpha << "cresset::nn::" << name << "(input_size=" << s.input_size << ", hidden_size=" << s.hidden_size
         << ", num_layers=" << s.num_layers << ", bias=" << s.bias << ", batch_first=" << s.batch_first << ", dropout=" << s.dropout
         << ", bidirectional=" << s.bidirectional;
  if (s.proj_size > 0) stream << ", proj_size=" << s.proj_size;
  stream << ")";
}

}  // namespace

template <class Derived>
void RNNImplBase<Derived>::reset() {
  const RnnShape& s = shape_;
  CRESSET_CHECK_VALUE(s.input_size > 0 && s.hidden_size > 0 && s.num_layers > 0,
                      "rnn: input_size, hidden_size and num_layers must be positive, got ", s.input_size, ", ", s.hidden_size, " and ", s.num_layers);
  CRESSET_CHECK_VALUE(s.dropout >= 0 && s.dropout <= 1, "rnn: dropout must be between 0 and 1, got ", s.dropout);
  CRESSET_CHECK_VALUE(s.proj_size >= 0 && s.proj_size < s.hidden_size, "rnn: proj_size must be below hidden_size, got ", s.proj_size, " and ",
                      s.hidden_size);
  const int64_t gate_size = s.gates() * s.hidden_size;
  for (int64_t layer = 0; layer < s.num_layers; layer++) {
    const int64_t layer_input = layer == 0 ? s.input_size : s.output_size() * s.directions();
    for (int64_t d = 0; d < s.directions(); d++) {
      const std::string suffix = "_l" + std::to_string(layer) + (d == 1 ? "_reverse" : "");
      this->register_parameter("weight_ih" + suffix, cresset::empty({gate_size, layer_input}));
      this->register_parameter("weight_hh" + suffix, cresset::empty({gate_size, s.output_size()}));
      if (s.bias) {
        this->register_parameter("bias_ih" + suffix, cresset::empty({gate_size}));
        this->register_parameter("bias_hh" + suffix, cresset::empty({gate_size}));
      }
      if (s.proj_size > 0) this->register_parameter("weight_hr" + suffix, cresset::empty({s.proj_size, s.hidden_size}));
    }
  }
  reset_parameters();
}

template <class Derived>
void RNNImplBase<Derived>::reset_parameters() {
  const double bound = 1.0 / std::sqrt(static_cast<double>(shape_.hidden_size));
  for (const Tensor& weight : all_weights()) init::uniform_(weight, -bound, bound);
}

template <class Derived>
void RNNCellImplBase<Derived>::reset() {
  CRESSET_CHECK_VALUE(input_size_ > 0 && hidden_size_ > 0, "rnn cell: input_size and hidden_size must be positive, got ", input_size_, " and ",
                      hidden_size_);
  const int64_t gate_size = (kind_ == RnnKind::lstm ? 4 : kind_ == RnnKind::gru ? 3 : 1) * hidden_size_;
  weight_ih = this->register_parameter("weight_ih", cresset::empty({gate_size, input_size_}));
  weight_hh = this->register_parameter("weight_hh", cresset::empty({gate_size, hidden_size_}));
  bias_ih = this->register_parameter("bias_ih", bias_ ? cresset::empty({gate_size}) : Tensor(), bias_);
  bias_hh = this->register_parameter("bias_hh", bias_ ? cresset::empty({gate_size}) : Tensor(), bias_);
  reset_parameters();
}

template <class Derived>
void RNNCellImplBase<Derived>::reset_parameters() {
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden_size_));
  for (const Tensor& weight : this->parameters()) init::uniform_(weight, -bound, bound);
}

namespace {

States run_cell(RnnKind kind, const Weights& w, const Tensor& given, States s) {
  CRESSET_CHECK(given.dim() == 1 || given.dim() == 2, "rnn cell: input must have 1 or 2 dimensions, got shape ", given.sizes());
  CRESSET_CHECK(given.size(-1) == w.ih.size(1), "rnn cell: size of the input's last dimension, got ", given.size(-1), ", expected ", w.ih.size(1));
  const bool batched = given.dim() == 2;
  const Tensor input = batched ? given : given.unsqueeze(0);
  auto prepare = [&](Tensor& state) {
    if (!state.defined()) state = cresset::zeros({input.size(0), w.hh.size(1)}, input.options().requires_grad(false));
    else if (!batched) state = state.unsqueeze(0);
    CRESSET_CHECK(state.dim() == 2 && state.size(0) == input.size(0) && state.size(1) == w.hh.size(1), "rnn cell: shape of a state, got ", state.sizes(),
                  ", expected [", input.size(0), ", ", w.hh.size(1), "]");
  };
  prepare(s.hidden);
  if (kind == RnnKind::lstm) prepare(s.cell);
  s = advance(kind, w, cresset::linear(input, w.ih, w.bias_ih), s);
  if (!batched) {
    s.hidden = s.hidden.squeeze(0);
    if (s.cell.defined()) s.cell = s.cell.squeeze(0);
  }
  return s;
}

RnnKind kind_of(rnn_nonlinearity_t nonlinearity) { return nonlinearity == kTanh ? RnnKind::tanh : RnnKind::relu; }

}  // namespace

template class RNNImplBase<RNNImpl>;
template class RNNImplBase<LSTMImpl>;
template class RNNImplBase<GRUImpl>;
template class RNNCellImplBase<RNNCellImpl>;
template class RNNCellImplBase<LSTMCellImpl>;
template class RNNCellImplBase<GRUCellImpl>;

}  // namespace detail

RNNImpl::RNNImpl(const RNNOptions& o)
    : RNNImplBase({detail::kind_of(o.nonlinearity()), o.input_size(), o.hidden_size(), o.num_layers(), o.bias(), o.batch_first(), o.dropout(),
                   o.bidirectional(), 0}),
      options(o) {}
void RNNImpl::pretty_print(std::ostream& stream) const { detail::print_network(stream, "RNN", shape_); }
std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, Tensor hx) {
  auto [output, last] = detail::run_network(shape_, all_weights(), input, {std::move(hx), Tensor()}, is_training());
  return {output, last.hidden};
}

LSTMImpl::LSTMImpl(const LSTMOptions& o)
    : RNNImplBase({detail::RnnKind::lstm, o.input_size(), o.hidden_size(), o.num_layers(), o.bias(), o.batch_first(), o.dropout(), o.bidirectional(),
                   o.proj_size()}),
      options(o) {}
void LSTMImpl::pretty_print(std::ostream& stream) const { detail::print_network(stream, "LSTM", shape_); }
std::tuple<Tensor, std::tuple<Tensor, Tensor>> LSTMImpl::forward(const Tensor& input, HiddenStates hx) {
  detail::States initial;
  if (hx) initial = {std::get<0>(*hx), std::get<1>(*hx)};
  auto [output, last] = detail::run_network(shape_, all_weights(), input, initial, is_training());
  return {output, {last.hidden, last.cell}};
}

GRUImpl::GRUImpl(const GRUOptions& o)
    : RNNImplBase({detail::RnnKind::gru, o.input_size(), o.hidden_size(), o.num_layers(), o.bias(), o.batch_first(), o.dropout(), o.bidirectional(), 0}),
      options(o) {}
void GRUImpl::pretty_print(std::ostream& stream) const { detail::print_network(stream, "GRU", shape_); }
std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& input, Tensor hx) {
  auto [output, last] = detail::run_network(shape_, all_weights(), input, {std::move(hx), Tensor()}, is_training());
  return {output, last.hidden};
}

RNNCellImpl::RNNCellImpl(const RNNCellOptions& o)
    : RNNCellImplBase(detail::kind_of(o.nonlinearity()), o.input_size(), o.hidden_size(), o.bias()), options(o) {}
void RNNCellImpl::pretty_print(std::ostream& stream) const {
  stream << "cresset::nn::RNNCell(" << options.input_size() << ", " << options.hidden_size() << ")";
}
Tensor RNNCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return detail::run_cell(kind_, {weight_ih, weight_hh, bias_ih, bias_hh, Tensor()}, input, {hx, Tensor()}).hidden;
}

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& o)
    : RNNCellImplBase(detail::RnnKind::lstm, o.input_size(), o.hidden_size(), o.bias()), options(o) {}
void LSTMCellImpl::pretty_print(std::ostream& stream) const {
  stream << "cresset::nn::LSTMCell(" << options.input_size() << ", " << options.hidden_size() << ")";
}
std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Tensor& input, HiddenStates hx) {
  detail::States initial;
  if (hx) initial = {std::get<0>(*hx), std::get<1>(*hx)};
  const auto last = detail::run_cell(kind_, {weight_ih, weight_hh, bias_ih, bias_hh, Tensor()}, input, initial);
  return {last.hidden, last.cell};
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& o)
    : RNNCellImplBase(detail::RnnKind::gru, o.input_size(), o.hidden_size(), o.bias()), options(o) {}
void GRUCellImpl::pretty_print(std::ostream& stream) const {
  stream << "cresset::nn::GRUCell(" << options.input_size() << ", " << options.hidden_size() << ")";
}
Tensor GRUCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return detail::run_cell(kind_, {weight_ih, weight_hh, bias_ih, bias_hh, Tensor()}, input, {hx, Tensor()}).hidden;
}

}  // namespace cresset::nn
