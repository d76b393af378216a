#pragma once
// Recurrent networks: RNN, LSTM and GRU over sequences, and their single steps.

#include <tuple>
#include <vector>

#include "cresset/nn/module/any.h"
#include "cresset/nn/module/layer.h"

namespace cresset::nn {

namespace utils::rnn {
class PackedSequence;
}

using rnn_nonlinearity_t = enumtype::OneOf<enumtype::kTanh, enumtype::kReLU>;

struct CRESSET_API RNNOptions {
  using nonlinearity_t = rnn_nonlinearity_t;
  RNNOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  CRESSET_ARG(int64_t, input_size);
  CRESSET_ARG(int64_t, hidden_size);
  CRESSET_ARG(int64_t, num_layers) = 1;
  CRESSET_ARG(nonlinearity_t, nonlinearity) = kTanh;
  CRESSET_ARG(bool, bias) = true;
  // Inputs and outputs (batch, length, features) instead of (length, batch, features).
  CRESSET_ARG(bool, batch_first) = false;
  // Between layers, in training.
  CRESSET_ARG(double, dropout) = 0.0;
  CRESSET_ARG(bool, bidirectional) = false;
};
struct CRESSET_API LSTMOptions {
  LSTMOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  CRESSET_ARG(int64_t, input_size);
  CRESSET_ARG(int64_t, hidden_size);
  CRESSET_ARG(int64_t, num_layers) = 1;
  CRESSET_ARG(bool, bias) = true;
  CRESSET_ARG(bool, batch_first) = false;
  CRESSET_ARG(double, dropout) = 0.0;
  CRESSET_ARG(bool, bidirectional) = false;
  // The hidden state is projected to this size, unless it is 0.
  CRESSET_ARG(int64_t, proj_size) = 0;
};
struct CRESSET_API GRUOptions {
  GRUOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  CRESSET_ARG(int64_t, input_size);
  CRESSET_ARG(int64_t, hidden_size);
  CRESSET_ARG(int64_t, num_layers) = 1;
  CRESSET_ARG(bool, bias) = true;
  CRESSET_ARG(bool, batch_first) = false;
  CRESSET_ARG(double, dropout) = 0.0;
  CRESSET_ARG(bool, bidirectional) = false;
};

namespace detail {

enum class RnnKind { tanh, relu, lstm, gru };

// Options that all kinds need.
struct RnnShape {
  RnnKind kind;
  int64_t input_size, hidden_size, num_layers;
  bool bias, batch_first;
  double dropout;
  bool bidirectional;
  int64_t proj_size;

  int64_t gates() const { return kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1; }
  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t output_size() const { return proj_size > 0 ? proj_size : hidden_size; }
};

// The common part of the options of all kinds.
struct CRESSET_API RNNOptionsBase {
  explicit RNNOptionsBase(const RnnShape& s)
      : input_size_(s.input_size),
        hidden_size_(s.hidden_size),
        num_layers_(s.num_layers),
        bias_(s.bias),
        batch_first_(s.batch_first),
        dropout_(s.dropout),
        bidirectional_(s.bidirectional),
        proj_size_(s.proj_size) {}
  CRESSET_ARG(int64_t, input_size);
  CRESSET_ARG(int64_t, hidden_size);
  CRESSET_ARG(int64_t, num_layers);
  CRESSET_ARG(bool, bias);
  CRESSET_ARG(bool, batch_first);
  CRESSET_ARG(double, dropout);
  CRESSET_ARG(bool, bidirectional);
  CRESSET_ARG(int64_t, proj_size);
};

// The weights of all layers and directions.
template <class Derived> class CRESSET_API RNNImplBase : public Cloneable<Derived> {
 public:
  explicit RNNImplBase(RnnShape shape) : options_base(shape), shape_(shape) { RNNImplBase::reset(); }
  void reset() override;
  void reset_parameters();
  // Weights need no common memory here: does nothing.
  void flatten_parameters() {}
  RNNOptionsBase options_base;
  // In the order of registration: for each layer and direction weight_ih, weight_hh, bias_ih, bias_hh, weight_hr as far as they exist.
  std::vector<Tensor> all_weights() const { return this->parameters(false); }

 protected:
  RnnShape shape_;
};

}  // namespace detail

class CRESSET_API RNNImpl;
extern template class detail::RNNImplBase<RNNImpl>;
// Input (length, batch, input_size) or (length, input_size); returns the hidden states of the last layer at all times, and the last of all layers.
class CRESSET_API RNNImpl : public detail::RNNImplBase<RNNImpl> {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size);
  explicit RNNImpl(const RNNOptions& options);
  void pretty_print(std::ostream& stream) const override;
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  // cresset/nn/utils/packed.h
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(const utils::rnn::PackedSequence& packed_input, Tensor hx = {});
  RNNOptions options;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(RNN);
CRESSET_IN_LAYERS(RNNImpl::RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)){})

class CRESSET_API LSTMImpl;
extern template class detail::RNNImplBase<LSTMImpl>;
class CRESSET_API LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  using HiddenStates = std::optional<std::tuple<Tensor, Tensor>>;
  LSTMImpl(int64_t input_size, int64_t hidden_size);
  explicit LSTMImpl(const LSTMOptions& options);
  void pretty_print(std::ostream& stream) const override;
  // Hidden and cell states in, outputs and both states out.
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(const Tensor& input, HiddenStates hx = std::nullopt);
  // cresset/nn/utils/packed.h
  std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> forward_with_packed_input(const utils::rnn::PackedSequence& packed_input,
                                                                                               HiddenStates hx = std::nullopt);
  LSTMOptions options;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(LSTM);
CRESSET_IN_LAYERS(LSTMImpl::LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)){})

class CRESSET_API GRUImpl;
extern template class detail::RNNImplBase<GRUImpl>;
class CRESSET_API GRUImpl : public detail::RNNImplBase<GRUImpl> {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size);
  explicit GRUImpl(const GRUOptions& options);
  void pretty_print(std::ostream& stream) const override;
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  // cresset/nn/utils/packed.h
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(const utils::rnn::PackedSequence& packed_input, Tensor hx = {});
  GRUOptions options;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(GRU);
CRESSET_IN_LAYERS(GRUImpl::GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)){})

struct CRESSET_API RNNCellOptions {
  using nonlinearity_t = rnn_nonlinearity_t;
  RNNCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  CRESSET_ARG(int64_t, input_size);
  CRESSET_ARG(int64_t, hidden_size);
  CRESSET_ARG(bool, bias) = true;
  CRESSET_ARG(nonlinearity_t, nonlinearity) = kTanh;
};
struct CRESSET_API LSTMCellOptions {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  CRESSET_ARG(int64_t, input_size);
  CRESSET_ARG(int64_t, hidden_size);
  CRESSET_ARG(bool, bias) = true;
};
using GRUCellOptions = LSTMCellOptions;

namespace detail {

template <class Derived> class CRESSET_API RNNCellImplBase : public Cloneable<Derived> {
 public:
  RNNCellImplBase(RnnKind kind, int64_t input_size, int64_t hidden_size, bool bias)
      : kind_(kind), input_size_(input_size), hidden_size_(hidden_size), bias_(bias) {
    RNNCellImplBase::reset();
  }
  void reset() override;
  void reset_parameters();

  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  RnnKind kind_;
  int64_t input_size_, hidden_size_;
  bool bias_;
};

}  // namespace detail

class CRESSET_API RNNCellImpl;
extern template class detail::RNNCellImplBase<RNNCellImpl>;
class CRESSET_API RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size);
  explicit RNNCellImpl(const RNNCellOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  RNNCellOptions options;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(RNNCell);
CRESSET_IN_LAYERS(RNNCellImpl::RNNCellImpl(int64_t input_size, int64_t hidden_size) : RNNCellImpl(RNNCellOptions(input_size, hidden_size)){})

class CRESSET_API LSTMCellImpl;
extern template class detail::RNNCellImplBase<LSTMCellImpl>;
class CRESSET_API LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl> {
 public:
  using HiddenStates = std::optional<std::tuple<Tensor, Tensor>>;
  LSTMCellImpl(int64_t input_size, int64_t hidden_size);
  explicit LSTMCellImpl(const LSTMCellOptions& options);
  void pretty_print(std::ostream& stream) const override;
  std::tuple<Tensor, Tensor> forward(const Tensor& input, HiddenStates hx = std::nullopt);
  LSTMCellOptions options;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(LSTMCell);
CRESSET_IN_LAYERS(LSTMCellImpl::LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)){})

class CRESSET_API GRUCellImpl;
extern template class detail::RNNCellImplBase<GRUCellImpl>;
class CRESSET_API GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size);
  explicit GRUCellImpl(const GRUCellOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  GRUCellOptions options;
  CRESSET_DECLARE_DEFAULT_ARGS()
};
CRESSET_MODULE(GRUCell);
CRESSET_IN_LAYERS(GRUCellImpl::GRUCellImpl(int64_t input_size, int64_t hidden_size) : GRUCellImpl(GRUCellOptions(input_size, hidden_size)){})

}  // namespace cresset::nn
