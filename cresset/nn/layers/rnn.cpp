#include "cresset/nn/layers/rnn.h"

#include <cmath>
#include <ostream>

#include "cresset/nn/utils/init.h"

namespace cresset::nn {

namespace detail {

namespace {

struct States {
  Tensor hidden, cell;
};

Tensor initial_state(const char* what, const Tensor& given, const std::vector<int64_t>& sizes, const Tensor& input) {
  if (!given.defined()) return cresset::zeros(sizes, input.options().requires_grad(false));
  const Tensor state = given.dim() == 2 ? given.unsqueeze(1) : given;
  CRESSET_CHECK(state.sizes() == IntArrayRef(sizes), "rnn: shape of the initial ", what, " state, got ", given.sizes(), ", expected ", IntArrayRef(sizes));
  return state;
}

// The whole network. An undefined state is zeros.
std::pair<Tensor, States> run_network(const RnnShape& s, const std::vector<Tensor>& weights, const Tensor& given, States initial, bool training) {
  CRESSET_CHECK(given.dim() == 2 || given.dim() == 3, "rnn: input must have 2 or 3 dimensions, got shape ", given.sizes());
  CRESSET_CHECK(given.size(-1) == s.input_size, "rnn: size of the input's last dimension, got ", given.size(-1), ", expected ", s.input_size);
  const bool batched = given.dim() == 3, batch_first = batched && s.batch_first;
  const Tensor input = batched ? given : given.unsqueeze(1);
  CRESSET_CHECK(input.size(batch_first ? 1 : 0) > 0, "rnn: the sequence is empty, got shape ", given.sizes());
  const int64_t states = s.num_layers * s.directions(), batch = input.size(batch_first ? 0 : 1);
  const Tensor hidden = initial_state("hidden", initial.hidden, {states, batch, s.output_size()}, input);
  Tensor out;
  States end;
  const auto run = [&](auto network) {
    std::tie(out, end.hidden) = network(input, hidden, weights, s.bias, s.num_layers, s.dropout, training, s.bidirectional, batch_first);
  };
  using OneState = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, TensorList, bool, int64_t, double, bool, bool, bool);
  switch (s.kind) {
    case RnnKind::lstm: {
      const Tensor cell = initial_state("cell", initial.cell, {states, batch, s.hidden_size}, input);
      std::tie(out, end.hidden, end.cell) =
          cresset::lstm(input, {hidden, cell}, weights, s.bias, s.num_layers, s.dropout, training, s.bidirectional, batch_first);
      break;
    }
    case RnnKind::gru: run(static_cast<OneState>(&cresset::gru)); break;
    case RnnKind::tanh: run(static_cast<OneState>(&cresset::rnn_tanh)); break;
    case RnnKind::relu: run(static_cast<OneState>(&cresset::rnn_relu)); break;
  }
  if (!batched) {
    out = out.squeeze(1);
    end.hidden = end.hidden.squeeze(1);
    if (end.cell.defined()) end.cell = end.cell.squeeze(1);
  }
  return {out, end};
}

void print_network(std::ostream& stream, const char* name, const RnnShape& s) {
  stream << std::boolalpha << "torch::nn::" << name << "(input_size=" << s.input_size << ", hidden_size=" << s.hidden_size << ", num_layers=" << s.num_layers
         << ", bias=" << s.bias << ", batch_first=" << s.batch_first << ", dropout=" << s.dropout << ", bidirectional=" << s.bidirectional;
  if (s.proj_size > 0) stream << ", proj_size=" << s.proj_size;
  stream << ")";
}

}  // namespace

template <class Derived> void RNNImplBase<Derived>::reset() {
  const RnnShape& s = shape_;
  CRESSET_CHECK_VALUE(s.input_size > 0, "rnn: input_size must be greater than zero, got ", s.input_size);
  CRESSET_CHECK_VALUE(s.hidden_size > 0, "rnn: hidden_size must be greater than zero, got ", s.hidden_size);
  CRESSET_CHECK_VALUE(s.num_layers > 0, "rnn: num_layers must be greater than zero, got ", s.num_layers);
  CRESSET_CHECK_VALUE(s.dropout >= 0 && s.dropout <= 1, "rnn: dropout must be between 0 and 1, got ", s.dropout);
  CRESSET_CHECK_VALUE(s.proj_size >= 0 && s.proj_size < s.hidden_size, "rnn: proj_size must be below hidden_size, got ", s.proj_size, " and ", s.hidden_size);
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

template <class Derived> void RNNImplBase<Derived>::reset_parameters() {
  const double bound = 1.0 / std::sqrt(static_cast<double>(shape_.hidden_size));
  for (const Tensor& weight : all_weights()) init::uniform_(weight, -bound, bound);
}

template <class Derived> void RNNCellImplBase<Derived>::reset() {
  CRESSET_CHECK_VALUE(input_size_ > 0 && hidden_size_ > 0, "rnn cell: input_size and hidden_size must be positive, got ", input_size_, " and ", hidden_size_);
  const int64_t gate_size = (kind_ == RnnKind::lstm ? 4 : kind_ == RnnKind::gru ? 3 : 1) * hidden_size_;
  weight_ih = this->register_parameter("weight_ih", cresset::empty({gate_size, input_size_}));
  weight_hh = this->register_parameter("weight_hh", cresset::empty({gate_size, hidden_size_}));
  bias_ih = this->register_parameter("bias_ih", bias_ ? cresset::empty({gate_size}) : Tensor(), bias_);
  bias_hh = this->register_parameter("bias_hh", bias_ ? cresset::empty({gate_size}) : Tensor(), bias_);
  reset_parameters();
}

template <class Derived> void RNNCellImplBase<Derived>::reset_parameters() {
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden_size_));
  for (const Tensor& weight : this->parameters()) init::uniform_(weight, -bound, bound);
}

namespace {

States run_cell(RnnKind kind, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh, const Tensor& given, States s) {
  CRESSET_CHECK(given.dim() == 1 || given.dim() == 2, "rnn cell: Expected input to be 1D or 2D, got ", given.dim(), "D instead");
  CRESSET_CHECK(given.size(-1) == w_ih.size(1), "rnn cell: input has inconsistent input_size: got ", given.size(-1), " expected ", w_ih.size(1));
  const bool batched = given.dim() == 2;
  const Tensor input = batched ? given : given.unsqueeze(0);
  auto prepare = [&](Tensor& state, const char* name, int number) {
    CRESSET_CHECK(!state.defined() || state.dim() == 1 || state.dim() == 2, "rnn cell: Expected ", name, " to be 1D or 2D, got ", state.dim(), "D instead");
    if (!state.defined()) state = cresset::zeros({input.size(0), w_hh.size(1)}, input.options().requires_grad(false));
    else if (!batched) state = state.unsqueeze(0);
    CRESSET_CHECK(state.size(-1) == w_hh.size(1), "rnn cell: hidden", number, " has inconsistent hidden_size: got ", state.size(-1), ", expected ",
                  w_hh.size(1));
    CRESSET_CHECK(state.dim() == 2 && state.size(0) == input.size(0), "rnn cell: hidden", number, ": expected ", input.size(0), " rows, got shape ",
                  state.sizes());
  };
  prepare(s.hidden, kind == RnnKind::lstm ? "hx[0]" : "hidden", 0);
  if (kind == RnnKind::lstm) {
    prepare(s.cell, "hx[1]", 1);
    std::tie(s.hidden, s.cell) = cresset::lstm_cell(input, {s.hidden, s.cell}, w_ih, w_hh, b_ih, b_hh);
  } else {
    const auto cell = kind == RnnKind::gru ? &cresset::gru_cell : kind == RnnKind::tanh ? &cresset::rnn_tanh_cell : &cresset::rnn_relu_cell;
    s.hidden = cell(input, s.hidden, w_ih, w_hh, b_ih, b_hh);
  }
  if (!batched) {
    s.hidden = s.hidden.squeeze(0);
    if (s.cell.defined()) s.cell = s.cell.squeeze(0);
  }
  return s;
}

template <class Options> void print_cell(std::ostream& stream, const char* name, const Options& o) {
  stream << "torch::nn::" << name << "(" << o.input_size() << ", " << o.hidden_size();
  if (!o.bias()) stream << ", bias=false";
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
    : RNNImplBase(
          {detail::kind_of(o.nonlinearity()), o.input_size(), o.hidden_size(), o.num_layers(), o.bias(), o.batch_first(), o.dropout(), o.bidirectional(), 0}),
      options(o) {}
void RNNImpl::pretty_print(std::ostream& stream) const { detail::print_network(stream, "RNN", shape_); }
std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, Tensor hx) {
  auto [output, last] = detail::run_network(shape_, all_weights(), input, {std::move(hx), Tensor()}, is_training());
  return {output, last.hidden};
}

LSTMImpl::LSTMImpl(const LSTMOptions& o)
    : RNNImplBase(
          {detail::RnnKind::lstm, o.input_size(), o.hidden_size(), o.num_layers(), o.bias(), o.batch_first(), o.dropout(), o.bidirectional(), o.proj_size()}),
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

RNNCellImpl::RNNCellImpl(const RNNCellOptions& o) : RNNCellImplBase(detail::kind_of(o.nonlinearity()), o.input_size(), o.hidden_size(), o.bias()), options(o) {}
void RNNCellImpl::pretty_print(std::ostream& stream) const {
  detail::print_cell(stream, "RNNCell", options);
  if (options.nonlinearity() != kTanh) stream << ", nonlinearity=" << options.nonlinearity().name();
  stream << ")";
}
Tensor RNNCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return detail::run_cell(kind_, weight_ih, weight_hh, bias_ih, bias_hh, input, {hx, Tensor()}).hidden;
}

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& o) : RNNCellImplBase(detail::RnnKind::lstm, o.input_size(), o.hidden_size(), o.bias()), options(o) {}
void LSTMCellImpl::pretty_print(std::ostream& stream) const {
  detail::print_cell(stream, "LSTMCell", options);
  stream << ")";
}
std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Tensor& input, HiddenStates hx) {
  detail::States initial;
  if (hx) initial = {std::get<0>(*hx), std::get<1>(*hx)};
  const auto last = detail::run_cell(kind_, weight_ih, weight_hh, bias_ih, bias_hh, input, initial);
  return {last.hidden, last.cell};
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& o) : RNNCellImplBase(detail::RnnKind::gru, o.input_size(), o.hidden_size(), o.bias()), options(o) {}
void GRUCellImpl::pretty_print(std::ostream& stream) const {
  detail::print_cell(stream, "GRUCell", options);
  stream << ")";
}
Tensor GRUCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return detail::run_cell(kind_, weight_ih, weight_hh, bias_ih, bias_hh, input, {hx, Tensor()}).hidden;
}

// Which arguments containers may leave out.
CRESSET_DEFINE_DEFAULT_ARGS(RNNImpl, {1, AnyValue(Tensor())})
CRESSET_DEFINE_DEFAULT_ARGS(LSTMImpl, {1, AnyValue(HiddenStates())})
CRESSET_DEFINE_DEFAULT_ARGS(GRUImpl, {1, AnyValue(Tensor())})
CRESSET_DEFINE_DEFAULT_ARGS(RNNCellImpl, {1, AnyValue(Tensor())})
CRESSET_DEFINE_DEFAULT_ARGS(LSTMCellImpl, {1, AnyValue(HiddenStates())})
CRESSET_DEFINE_DEFAULT_ARGS(GRUCellImpl, {1, AnyValue(Tensor())})

}  // namespace cresset::nn
