#include "cresset/graph/codegen/layers.h"

#include <algorithm>
#include <mutex>

#include "cresset/autograd/grad_mode.h"
#include "cresset/graph/codegen/nodes.h"
#include "cresset/graph/ir/alias.h"
#include "cresset/kernels/gemm/gemm.h"
#include "cresset/kernels/norm/norm.h"
#include "cresset/ops/conv/packed.h"

namespace cresset::graph {

namespace {

bool is_plain_float(const Tensor& t) {
  return t.defined() && t.is_cpu() && t.scalar_type() == kFloat && t.layout() == Layout::Strided && !t.impl()->is_lazy() && t.is_contiguous();
}

// A layer whose weight is packed for as long as calls bring the same tensor, unwritten.
template <class Layer> class Keeper {
 public:
  // Null where the weight counts no versions.
  template <class Make> std::shared_ptr<const Layer> of(const Tensor& weight, const std::optional<Tensor>& bias, Make&& make) const {
    if (weight.is_inference() || (bias && bias->is_inference())) return nullptr;
    const std::lock_guard lock(mutex_);
    const int64_t versions[] = {weight._version(), bias ? bias->_version() : 0};
    const TensorImpl* const second = bias ? bias->impl() : nullptr;
    if (layer_ && weight_.impl() == weight.impl() && bias_.impl() == second && versions_[0] == versions[0] && versions_[1] == versions[1] &&
        data_ == weight.data_ptr())
      return layer_;
    weight_ = weight;
    bias_ = bias.value_or(Tensor());
    data_ = weight.data_ptr();
    versions_[0] = versions[0];
    versions_[1] = versions[1];
    layer_ = make();
    return layer_;
  }

 private:
  mutable std::mutex mutex_;
  mutable Tensor weight_, bias_;
  mutable const void* data_ = nullptr;
  mutable int64_t versions_[2] = {};
  mutable std::shared_ptr<const Layer> layer_;
};

// The operators behind a layer.
struct After {
  bool norm = false, residual = false, relu = false;
  double eps = 0;
};

// Arguments: input, weight, bias where there is one, then weight, bias, mean and variance of the norm, then the tensor that is added.
class ConvKernel : public Kernel {
 public:
  ConvKernel(IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups, bool bias, After after, bool freezing)
      : stride_(stride), padding_(padding), dilation_(dilation), groups_(groups), bias_(bias), after_(after), freezing_(freezing) {}
  void prepare(const std::vector<bool>&) const override {}
  std::vector<Tensor> run(ArrayRef<Tensor> arguments) const override {
    const size_t wanted = 2 + (bias_ ? 1 : 0) + (after_.norm ? 4 : 0) + (after_.residual ? 1 : 0);
    CRESSET_CHECK(arguments.size() == wanted, "convolution kernel: expected ", wanted, " tensors, got ", arguments.size());
    const autograd::AutoGradMode off(false);
    size_t next = 2;
    const std::optional<Tensor> bias = bias_ ? std::optional<Tensor>(arguments[next++]) : std::nullopt;
    Tensor out = convolved(arguments[0], arguments[1], bias);
    const ArrayRef<Tensor> norm(arguments.data() + next, after_.norm ? 4 : 0);
    const Tensor residual = after_.residual ? arguments.back() : Tensor();
    return {finished(std::move(out), norm, residual)};
  }

 private:
  Tensor convolved(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) const {
    if (freezing_)
      if (const auto layer = packed_.of(weight, bias, [&] {
            return std::make_shared<ops::PackedConv>(weight.detach(), bias ? std::optional<Tensor>(bias->detach()) : std::nullopt, stride_, padding_, dilation_,
                                                     groups_);
          }))
        if (Tensor out = (*layer)(input); out.defined()) return out;
    return cresset::convolution(input, weight, bias, stride_, padding_, dilation_, false, DimVector(stride_.size(), 0), groups_);
  }
  Tensor finished(Tensor out, ArrayRef<Tensor> norm, const Tensor& residual) const {
    bool plain = is_plain_float(out) && (!after_.residual || (is_plain_float(residual) && residual.sizes() == out.sizes()));
    for (const Tensor& t : norm) plain = plain && is_plain_float(t) && t.numel() == out.size(1);
    if (!plain || norm.empty()) {
      if (!norm.empty()) out = std::get<0>(cresset::native_batch_norm(out, norm[0], norm[1], norm[2], norm[3], false, 0.0, after_.eps));
      if (after_.residual) out = out + residual;
      return after_.relu ? out.relu_() : out;
    }
    const auto data = [](const Tensor& t) { return static_cast<const char*>(t.data_ptr()); };
    kernels::BatchNormEvalArgs a;
    a.x = data(out);
    a.y = static_cast<char*>(out.data_ptr());
    a.weight = data(norm[0]);
    a.bias = data(norm[1]);
    a.mean = data(norm[2]);
    a.var = data(norm[3]);
    a.dtypes = {kFloat, kFloat, kFloat};
    a.n = out.size(0);
    a.channels = out.size(1);
    a.spatial = out.numel() / std::max<int64_t>(a.n * a.channels, 1);
    a.eps = after_.eps;
    a.residual = after_.residual ? data(residual) : nullptr;
    a.relu = after_.relu;
    kernels::batch_norm_eval(a);
    return out;
  }

  DimVector stride_, padding_, dilation_;
  int64_t groups_;
  bool bias_;
  After after_;
  bool freezing_;
  Keeper<ops::PackedConv> packed_;
};

// Arguments: bias where there is one, matrix, and the weight of [out, in].
class LinearKernel : public Kernel {
 public:
  LinearKernel(bool bias, bool relu, bool freezing) : bias_(bias), relu_(relu), freezing_(freezing) {}
  void prepare(const std::vector<bool>&) const override {}
  std::vector<Tensor> run(ArrayRef<Tensor> arguments) const override {
    const size_t first = bias_ ? 1 : 0;
    CRESSET_CHECK(arguments.size() == first + 2, "linear kernel: expected ", first + 2, " tensors, got ", arguments.size());
    const autograd::AutoGradMode off(false);
    const Tensor &x = arguments[first], &weight = arguments[first + 1];
    const std::optional<Tensor> bias = bias_ ? std::optional<Tensor>(arguments[0]) : std::nullopt;
    if (freezing_)
      if (const auto layer = packed_.of(weight, bias, [&] {
            return std::make_shared<ops::PackedLinear>(weight.detach(), bias ? std::optional<Tensor>(bias->detach()) : std::nullopt, relu_);
          }))
        if (Tensor out = (*layer)(x); out.defined()) return {out};
    const bool plain = is_plain_float(x) && is_plain_float(weight) && x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1) && x.numel() &&
                       weight.numel() && (!bias_ || (is_plain_float(*bias) && bias->dim() == 1 && bias->size(0) == weight.size(0)));
    if (!plain) {
      Tensor out = cresset::linear(x, weight, bias);
      return {relu_ ? out.relu_() : out};
    }
    const int64_t n = weight.size(0), k = weight.size(1), m = x.numel() / k;
    DimVector shape(x.sizes());
    shape[shape.size() - 1] = n;
    Tensor out = cresset::empty(shape, x.options());
    const kernels::GemmEpilogue epilogue{bias_ ? bias->data_ptr() : nullptr, relu_};
    kernels::gemm(kFloat, false, true, m, n, k, 1, x.data_ptr(), k, weight.data_ptr(), k, 0, out.data_ptr(), n, &epilogue);
    return {out};
  }

 private:
  bool bias_, relu_, freezing_;
  Keeper<ops::PackedLinear> packed_;
};

// A batch norm by the statistics of the batch, then the sum with another tensor where there is one, and relu. Arguments: input, weight and bias where there
// are, running mean and variance where there are, which it updates, and the tensor that is added. Results: those of the norm.
class NormKernel : public Kernel {
 public:
  struct Has {
    bool weight, bias, running, residual;
    size_t count() const { return 1 + (weight ? 1 : 0) + (bias ? 1 : 0) + (running ? 2 : 0) + (residual ? 1 : 0); }
  };
  NormKernel(Has has, double momentum, double eps) : has_(has), momentum_(momentum), eps_(eps) {}
  void prepare(const std::vector<bool>&) const override {}
  std::vector<Tensor> run(ArrayRef<Tensor> arguments) const override {
    CRESSET_CHECK(arguments.size() == has_.count(), "batch norm kernel: expected ", has_.count(), " tensors, got ", arguments.size());
    const autograd::AutoGradMode off(false);
    size_t next = 1;
    const auto optional = [&](bool given) { return given ? std::optional<Tensor>(arguments[next++]) : std::nullopt; };
    const Tensor& x = arguments[0];
    const std::optional<Tensor> weight = optional(has_.weight), bias = optional(has_.bias), mean = optional(has_.running), var = optional(has_.running);
    const std::optional<Tensor> residual = optional(has_.residual);
    bool plain = is_image(x) && (!residual || (is_plain_float(*residual) && residual->sizes() == x.sizes()));
    for (const auto* t : {&weight, &bias, &mean, &var}) plain = plain && (!*t || (is_plain_float(**t) && (*t)->numel() == x.size(1)));
    if (!plain) {
      auto [y, saved_mean, saved_rstd] = cresset::native_batch_norm(x, weight, bias, mean, var, true, momentum_, eps_);
      if (residual) y = y + *residual;
      return {y.relu_(), saved_mean, saved_rstd};
    }
    const Tensor y = cresset::empty_like(x), saved_mean = cresset::empty({x.size(1)}, x.options()), saved_rstd = cresset::empty_like(saved_mean);
    kernels::BatchNormArgs a;
    a.x = data_of(x);
    a.weight = data_of(weight);
    a.bias = data_of(bias);
    a.y = data_of(y);
    a.mean = data_of(saved_mean);
    a.rstd = data_of(saved_rstd);
    a.running_mean = data_of(mean);
    a.running_var = data_of(var);
    a.dtypes = {kFloat, kFloat, kFloat};
    a.n = x.size(0);
    a.channels = x.size(1);
    a.spatial = x.numel() / (a.n * a.channels);
    a.momentum = momentum_;
    a.eps = eps_;
    a.residual = data_of(residual);
    a.relu = true;
    kernels::batch_norm_train(a);
    return {y, saved_mean, saved_rstd};
  }

  // Whether it is made of planes of several elements.
  static bool is_image(const Tensor& t) { return is_plain_float(t) && t.dim() >= 3 && t.numel() > t.size(0) * t.size(1); }
  static char* data_of(const std::optional<Tensor>& t) { return t && t->defined() ? static_cast<char*>(t->data_ptr()) : nullptr; }

 private:
  Has has_;
  double momentum_, eps_;
};

// A batch norm by statistics that are known, and relu. Arguments: input, mean, reciprocal deviation, weight and bias where there are.
class NormAgainKernel : public Kernel {
 public:
  NormAgainKernel(bool weight, bool bias) : weight_(weight), bias_(bias) {}
  void prepare(const std::vector<bool>&) const override {}
  std::vector<Tensor> run(ArrayRef<Tensor> arguments) const override {
    const size_t wanted = 3 + (weight_ ? 1 : 0) + (bias_ ? 1 : 0);
    CRESSET_CHECK(arguments.size() == wanted, "batch norm kernel: expected ", wanted, " tensors, got ", arguments.size());
    const autograd::AutoGradMode off(false);
    const Tensor &x = arguments[0], y = cresset::empty_like(x);
    CRESSET_CHECK(is_plain_float(x) && y.is_contiguous(), "batch norm kernel: expected a dense tensor of float32");
    for (const Tensor& t : arguments.slice(1))
      CRESSET_CHECK(is_plain_float(t) && t.numel() == x.size(1), "batch norm kernel: expected a number for each channel");
    kernels::BatchNormEvalArgs a;
    a.x = NormKernel::data_of(x);
    a.y = NormKernel::data_of(y);
    a.mean = NormKernel::data_of(arguments[1]);
    a.rstd = NormKernel::data_of(arguments[2]);
    if (weight_) a.weight = NormKernel::data_of(arguments[3]);
    if (bias_) a.bias = NormKernel::data_of(arguments.back());
    a.dtypes = {kFloat, kFloat, kFloat};
    a.n = x.size(0);
    a.channels = x.size(1);
    a.spatial = x.numel() / std::max<int64_t>(a.n * a.channels, 1);
    a.relu = true;
    kernels::batch_norm_eval(a);
    return {y};
  }

 private:
  bool weight_, bias_;
};

// The gradients of a batch norm and the relu behind it. Arguments: gradient and result of relu, input, mean and reciprocal deviation of the batch, weight
// where there is one.
class NormBackwardKernel : public Kernel {
 public:
  explicit NormBackwardKernel(bool weight) : weight_(weight) {}
  void prepare(const std::vector<bool>&) const override {}
  std::vector<Tensor> run(ArrayRef<Tensor> arguments) const override { return compute(arguments, false); }
  std::vector<Tensor> run_owning(ArrayRef<Tensor> arguments) const override { return compute(arguments, true); }

 private:
  std::vector<Tensor> compute(ArrayRef<Tensor> arguments, bool owned) const {
    const size_t wanted = weight_ ? 6 : 5;
    CRESSET_CHECK(arguments.size() == wanted, "batch norm kernel: expected ", wanted, " tensors, got ", arguments.size());
    const autograd::AutoGradMode off(false);
    const Tensor &dy = arguments[0], &y = arguments[1], &x = arguments[2];
    const std::optional<Tensor> weight = weight_ ? std::optional<Tensor>(arguments[5]) : std::nullopt;
    bool plain = NormKernel::is_image(x);
    for (const Tensor& t : arguments.slice(0, 2)) plain = plain && is_plain_float(t) && t.sizes() == x.sizes();
    for (const Tensor& t : arguments.slice(3)) plain = plain && is_plain_float(t) && t.numel() == x.size(1);
    CRESSET_CHECK(plain, "batch norm kernel: expected dense tensors of float32, alike or with a number for each channel");
    const Tensor taken = owned ? taken_over(dy, x.sizes(), kFloat) : Tensor(), dx = taken.defined() ? taken : cresset::empty_like(x);
    const Tensor dweight = cresset::empty({x.size(1)}, x.options()), dbias = cresset::empty_like(dweight);
    kernels::BatchNormBackwardArgs a;
    a.dy = NormKernel::data_of(dy);
    a.x = NormKernel::data_of(x);
    a.weight = NormKernel::data_of(weight);
    a.mean = NormKernel::data_of(arguments[3]);
    a.rstd = NormKernel::data_of(arguments[4]);
    a.dx = NormKernel::data_of(dx);
    a.dweight = NormKernel::data_of(dweight);
    a.dbias = NormKernel::data_of(dbias);
    a.dtypes = {kFloat, kFloat, kFloat};
    a.n = x.size(0);
    a.channels = x.size(1);
    a.spatial = x.numel() / (a.n * a.channels);
    a.y = NormKernel::data_of(y);
    kernels::batch_norm_backward(a);
    return {dx, dweight, dbias};
  }

  bool weight_;
};

class Joiner {
 public:
  Joiner(Graph& graph, const FuseOptions& options) : graph_(graph), options_(options) {
    for (const auto& n : graph.block().nodes()) {
      for (size_t i = 0; i < n->inputs().size(); i++) writes_ = writes_ || (writes_input(*n, i) && !fills_own(*n));
      if (n->kind() == NodeKind::Op) nodes_.push_back(n.get());
    }
  }

  Kernels run() {
    if (writes_) return std::move(kernels_);  // a layer moves to the place of what follows it
    for (size_t i = 0; i < nodes_.size(); i++) {
      Node* const n = nodes_[i];
      if (!n) continue;
      const std::string_view name = name_of(*n);
      if (name == "convolution") convolution(*n, 8);
      else if (name == "conv1d" || name == "conv2d" || name == "conv3d") convolution(*n, 6);
      else if (name == "addmm" || name == "mm") product(*n);
      else if (name == "native_batch_norm") norm(*n);
      else if (name == "native_batch_norm_backward") norm_backward(*n);
      else if (name == "linear") linear(*n, n->input(0), n->input(1), is_none(n->input(2)) ? nullptr : n->input(2));
    }
    return std::move(kernels_);
  }

 private:
  static bool is_dense_float(const Value* v) {
    if (!is_plain(v) || *v->type().facts().dtype != kFloat) return false;
    Sym stride(1);
    const TensorFacts& f = v->type().facts();
    for (size_t d = f.sizes->size(); d-- > 0; stride = stride * (*f.sizes)[d])
      if ((*f.strides)[d] != stride && (*f.sizes)[d] != Sym(1)) return false;
    return true;
  }
  template <class T> static std::optional<T> number(const Value* v) {
    if (!v->is_constant() || !v->constant()->is<T>()) return std::nullopt;
    return std::get<T>(v->constant()->data());
  }
  static bool is_one(const Value* v) { return v->is_constant() && v->constant()->is_number() && v->constant()->to_scalar().is(1); }
  // The node that alone reads a value, as its first input where `first`.
  static Node* only_reader(const Value* v) { return v->uses().size() == 1 ? v->uses()[0].node : nullptr; }

  static bool is_none(const Value* v) { return v->is_constant() && v->constant()->is_none(); }

  // Its input `last` is the number of groups; one of 8 may be transposed.
  void convolution(Node& n, size_t last_input) {
    Value* const out = n.output();
    const auto transposed = last_input == 8 ? number<bool>(n.input(6)) : false;
    const auto groups = number<int64_t>(n.input(last_input));
    if (!transposed || *transposed || !groups || !is_dense_float(n.input(0)) || !is_dense_float(n.input(1)) || !is_dense_float(out)) return;
    const size_t dims = shape_of(n.input(1)).size();
    if (shape_of(out).size() != dims) return;  // a single image
    for (const size_t i : {3, 4, 5})
      if (!n.input(i)->is_constant() || !n.input(i)->constant()->isIntList() || n.input(i)->constant()->toIntVector().size() + 2 != dims) return;
    const bool bias = !is_none(n.input(2));
    if (bias && !is_dense_float(n.input(2))) return;
    std::vector<Value*> inputs{n.input(0), n.input(1)};
    if (bias) inputs.push_back(n.input(2));
    std::vector<Node*> members{&n};
    After after;
    Value* last = out;
    if (Node* const norm = only_reader(last); norm && is_norm(*norm) && norm->input(0) == last) {
      after.norm = true;
      after.eps = norm->input(7)->constant()->to_double();
      for (const size_t i : {1, 2, 3, 4}) inputs.push_back(norm->input(i));
      members.push_back(norm);
      last = norm->output(0);
    }
    if (Node* const add = only_reader(last); after.norm && add && name_of(*add) == "add.Tensor" && is_one(add->input(2))) {
      Value* const other = add->input(0) == last ? add->input(1) : add->input(0);
      if (other != last && is_dense_float(other) && shape_of(other) == shape_of(out)) {
        after.residual = true;
        inputs.push_back(other);
        members.push_back(add);
        last = add->output();
      }
    }
    if (Node* const relu = only_reader(last); relu && name_of(*relu) == "relu") {
      after.relu = true;
      members.push_back(relu);
      last = relu->output();
    }
    if (members.size() == 1 && !options_.freezing) return;
    const auto list = [&](size_t i) { return n.input(i)->constant()->toIntVector(); };
    replace(std::make_shared<ConvKernel>(list(3), list(4), list(5), *groups, bias, after, options_.freezing), inputs, members);
  }
  // Whether it normalises by statistics that are there, with a weight and a bias, and nothing reads the others of its results.
  static bool is_norm(const Node& n) {
    if (name_of(n) != "native_batch_norm" && name_of(n) != "batch_norm") return false;
    const auto training = number<bool>(n.input(5));
    if (!training || *training || !n.input(7)->is_constant()) return false;
    for (size_t i = 1; i < n.outputs().size(); i++)
      if (!n.output(i)->uses().empty()) return false;
    for (const size_t i : {1, 2, 3, 4})
      if (!n.input(i)->type().is_tensor() || !is_dense_float(n.input(i))) return false;
    return true;
  }

  // By the statistics of the batch, with the relu, or the sum and relu, that alone read the result.
  void norm(Node& n) {
    const auto training = number<bool>(n.input(5));
    const auto momentum = number<double>(n.input(6)), eps = number<double>(n.input(7));
    if (!training || !*training || !momentum || !eps || is_none(n.input(3)) != is_none(n.input(4))) return;
    if (!is_dense_float(n.input(0)) || shape_of(n.input(0)).size() < 3) return;
    std::vector<Value*> inputs{n.input(0)};
    for (const size_t i : {1, 2, 3, 4}) {
      if (is_none(n.input(i))) continue;
      if (!is_dense_float(n.input(i))) return;
      inputs.push_back(n.input(i));
    }
    std::vector<Node*> members{&n};
    Node* reader = only_reader(n.output(0));
    Node* place = &n;
    if (Value* const other = reader ? residual_of(*reader, n.output(0)) : nullptr; other && only_reader(reader->output()) && is_kept_only(n)) {
      inputs.push_back(other);
      members.push_back(reader);
      reader = place = only_reader(reader->output());
    }
    if (!reader || name_of(*reader) != "relu") return;
    members.push_back(reader);
    if (const Node* const gradient = members.size() == 2 && is_none(n.input(3)) ? gradient_of(n) : nullptr) {
      inputs.insert(inputs.begin() + 1, {gradient->input(5), gradient->input(6)});
      replace_norm(std::make_shared<NormAgainKernel>(!is_none(n.input(1)), !is_none(n.input(2))), inputs, members, n, reader->output(), place, 1);
      return;
    }
    const NormKernel::Has has{!is_none(n.input(1)), !is_none(n.input(2)), !is_none(n.input(3)), members.size() == 3};
    replace_norm(std::make_shared<NormKernel>(has, *momentum, *eps), inputs, members, n, reader->output(), place);
  }
  // The node of the gradients of a norm that is computed again, which knows its statistics; null where they are read, or where there is none.
  static const Node* gradient_of(const Node& norm) {
    if (!norm.output(1)->uses().empty() || !norm.output(2)->uses().empty()) return nullptr;
    for (const Use& use : norm.input(0)->uses()) {
      const Node& n = *use.node;
      if (name_of(n) != "native_batch_norm_backward" || n.input(1) != norm.input(0)) continue;
      const auto training = number<bool>(n.input(7));
      const auto eps = number<double>(n.input(8)), own = number<double>(norm.input(7));
      const bool are_parameters = !n.input(5)->node() && !n.input(6)->node();
      if (training && *training && eps && own && *eps == *own && are_parameters && is_dense_float(n.input(5)) && is_dense_float(n.input(6))) return &n;
    }
    return nullptr;
  }
  // The tensor that a sum of equal shapes adds to a value; null for other nodes.
  static Value* residual_of(const Node& add, const Value* to) {
    if (name_of(add) != "add.Tensor" || !is_one(add.input(2))) return nullptr;
    Value* const other = add.input(0) == to ? add.input(1) : add.input(0);
    return other != to && is_dense_float(other) && shape_of(other) == shape_of(to) ? other : nullptr;
  }
  // Whether nothing in the graph reads the statistics that it gives.
  bool is_kept_only(const Node& norm) const {
    for (const size_t i : {1, 2})
      for (const Use& use : norm.output(i)->uses())
        if (use.node != graph_.block().return_node()) return false;
    return true;
  }

  // The gradients of a batch norm whose result relu took.
  void norm_backward(Node& n) {
    Node* const mask = n.input(0)->node();
    const auto training = number<bool>(n.input(7));
    if (!training || !*training || !mask || name_of(*mask) != "threshold_backward" || only_reader(mask->output()) != &n) return;
    const Value* threshold = mask->input(2);
    if (!threshold->is_constant() || !threshold->constant()->is_number() || !threshold->constant()->to_scalar().is(0)) return;
    std::vector<Value*> inputs{mask->input(0), mask->input(1), n.input(1), n.input(5), n.input(6)};
    if (!is_none(n.input(2))) inputs.push_back(n.input(2));
    for (Value* v : inputs)
      if (!is_dense_float(v)) return;
    // Planes of several elements.
    const auto& shape = shape_of(n.input(1));
    const auto several = [](const Sym& s) { return s.constant().value_or(0) > 1; };
    if (shape.size() < 3 || std::none_of(shape.begin() + 2, shape.end(), several) || shape_of(mask->input(0)) != shape_of(n.input(1)) ||
        shape_of(mask->input(1)) != shape_of(n.input(1)))
      return;
    replace_norm(std::make_shared<NormBackwardKernel>(!is_none(n.input(2))), inputs, {mask, &n}, n, n.output(0), &n);
  }

  // A kernel in the place of members, with the results of the norm, the first of which is `first`.
  void replace_norm(std::shared_ptr<const Kernel> kernel, const std::vector<Value*>& inputs, const std::vector<Node*>& members, Node& norm, Value* first,
                    Node* place, size_t results = 3) {
    std::vector<std::string> names;
    for (const Node* m : members) names.push_back(m->op_name());
    Node* const unpack = call_kernel(graph_, kernels_.add(std::move(kernel), std::vector<bool>(inputs.size())), inputs, std::move(names), place);
    for (size_t i = 0; i < results; i++) {
      Value* const old = i == 0 ? first : norm.output(i);
      old->replace_uses_with(unpack->add_output(old->type(), old->name()));
    }
    for (size_t i = members.size(); i-- > 0;) forget(*members[i]);
  }

  void product(Node& n) {
    const bool bias = name_of(n) == "addmm";
    Node* const turned = n.input(bias ? 2 : 1)->node();
    if (!turned || name_of(*turned) != "t" || (bias && (!is_one(n.input(3)) || !is_one(n.input(4))))) return;
    if (linear(n, n.input(bias ? 1 : 0), turned->input(0), bias ? n.input(0) : nullptr) && turned->output()->uses().empty()) forget(*turned);
  }

  // The weight is [out, in]; the bias may be null.
  bool linear(Node& n, Value* x, Value* weight, Value* bias) {
    if (!is_dense_float(x) || !is_dense_float(weight) || !is_dense_float(n.output()) || shape_of(weight).size() != 2 || shape_of(x).empty()) return false;
    if (bias && (!is_dense_float(bias) || shape_of(bias).size() != 1)) return false;
    std::vector<Node*> members{&n};
    // Views that only the next node reads may stand between.
    Value* last = n.output();
    while (only_reader(last) && name_of(*only_reader(last)) == "view" && only_reader(last)->input(0) == last) last = only_reader(last)->output();
    Node* const relu = only_reader(last);
    const bool with_relu = relu && name_of(*relu) == "relu";
    if (!with_relu && !options_.freezing) return false;
    std::vector<Value*> inputs;
    if (bias) inputs.push_back(bias);
    inputs.insert(inputs.end(), {x, weight});
    if (with_relu) {
      relu->output()->replace_uses_with(relu->input(0));
      forget(*relu);
    }
    replace(std::make_shared<LinearKernel>(bias != nullptr, with_relu, options_.freezing), inputs, members, with_relu ? "relu" : "");
    return true;
  }

  void forget(Node& n) {
    std::replace(nodes_.begin(), nodes_.end(), &n, static_cast<Node*>(nullptr));
    n.erase();
  }
  // The kernel stands where the last of its members stood.
  void replace(std::shared_ptr<const Kernel> kernel, const std::vector<Value*>& inputs, const std::vector<Node*>& members, std::string more = "") {
    std::vector<std::string> names;
    for (const Node* m : members) names.push_back(m->op_name());
    if (!more.empty()) names.push_back(std::move(more));
    Node* const last = members.back();
    Node* const unpack = call_kernel(graph_, kernels_.add(std::move(kernel), std::vector<bool>(inputs.size())), inputs, std::move(names), last);
    last->output(0)->replace_uses_with(unpack->add_output(last->output(0)->type(), last->output(0)->name()));
    for (size_t i = members.size(); i-- > 0;) forget(*members[i]);
  }

  Graph& graph_;
  const FuseOptions& options_;
  Kernels kernels_;
  std::vector<Node*> nodes_;
  bool writes_ = false;
};

}  // namespace

Kernels join_layers(Graph& graph, const FuseOptions& options) { return Joiner(graph, options).run(); }

}  // namespace cresset::graph
