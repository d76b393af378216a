#include "cresset/train/recorded_run.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cresset/autograd/accumulate_grad.h"
#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/variable.h"
#include "cresset/nn/module/module.h"
#include "cresset/tensor.h"
#include "cresset/train/wire.h"

namespace cresset::train {

namespace {

using autograd::Node;

// "NetImpl" of "(anonymous namespace)::NetImpl" is shown as Net.
std::string class_of(const nn::Module& module) {
  std::string name = module.name();
  if (const size_t at = name.rfind("::"); at != std::string::npos) name.erase(0, at + 2);
  if (name.size() > 4 && name.compare(name.size() - 4, 4, "Impl") == 0) name.resize(name.size() - 4);
  return name;
}

// "MaxPool2DBackward0" was max_pool2d.
std::string operator_of(std::string name) {
  if (const size_t at = name.rfind("Backward"); at != std::string::npos && at > 0) name.resize(at);
  std::string out;
  for (size_t i = 0; i < name.size(); i++) {
    const bool is_upper = name[i] >= 'A' && name[i] <= 'Z', follows_small = i > 0 && name[i - 1] >= 'a' && name[i - 1] <= 'z';
    if (is_upper && follows_small) out += '_';
    out += is_upper ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return out;
}

// Numbers of TensorFlow's DataType.
int type_of(ScalarType dtype) {
  switch (dtype) {
    case kFloat: return 1;
    case kDouble: return 2;
    case kHalf: return 19;
    case kBFloat16: return 14;
    case kComplexFloat: return 8;
    case kComplexDouble: return 18;
    default: return 0;
  }
}

std::string attribute(const std::string& name, const std::string& message) { return wire::data(5, wire::data(1, name) + wire::data(2, message)); }

// Names of nodes and what is written of them.
class Drawing {
 public:
  std::string add(const std::string& wanted, const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<autograd::InputMetadata>& outputs) {
    const int count = seen_[wanted]++;
    const std::string name = count ? wanted + "_" + std::to_string(count) : wanted;
    std::string node = wire::data(1, name) + wire::data(2, op), shapes;
    for (const std::string& input : inputs) node += wire::data(3, input);
    for (const autograd::InputMetadata& output : outputs) {
      std::string sizes;
      for (const int64_t n : output.sizes()) sizes += wire::data(2, wire::integer(1, n));
      shapes += wire::data(7, sizes);
    }
    node += attribute("_output_shapes", wire::data(1, shapes));
    if (const int type = outputs.empty() ? 0 : type_of(outputs[0].dtype())) node += attribute("dtype", wire::integer(6, type));
    bytes_ += wire::data(1, node);
    return name;
  }
  std::string graph() const { return bytes_ + wire::data(4, wire::integer(1, 22)); }

 private:
  std::map<std::string, int> seen_;
  std::string bytes_;
};

std::string joined(const std::string& scope, const std::string& name) { return scope + "/" + name; }

}  // namespace

struct RecordedRun::Impl {
  nn::Module& model;
  AutoGradMode recording{true};
  std::vector<std::pair<nn::Module*, bool>> modes;
  std::vector<Tensor> frozen, inputs, outputs;

  explicit Impl(nn::Module& m) : model(m) {}

  // Name of a node of the graph, and the scope of the parameters that it was made from.
  struct Drawn {
    std::string name, scope;
    bool of_parameters = false;
  };
  std::unordered_map<const TensorImpl*, Drawn> leaves(Drawing& drawing, std::string& top) const {
    std::unordered_map<const TensorImpl*, Drawn> found;
    std::map<std::string, std::string> scopes;
    const nn::Module& root = model;
    root.apply(nn::Module::ConstNamedModuleApplyFunction([&](const std::string& path, const nn::Module& module) {
      const size_t dot = path.rfind('.');
      const std::string owner = dot == std::string::npos ? "" : path.substr(0, dot), last = dot == std::string::npos ? path : path.substr(dot + 1);
      const std::string scope = path.empty() ? class_of(module) : joined(scopes[owner], class_of(module) + "[" + last + "]");
      scopes[path] = scope;
      const OrderedDict<std::string, Tensor> own = module.named_parameters(false);
      for (const auto& parameter : own) {
        if (found.count(parameter.value().unsafeGetTensorImpl())) continue;
        const std::string name = drawing.add(joined(scope, parameter.key()), "Parameter", {}, {autograd::InputMetadata(parameter.value())});
        found[parameter.value().unsafeGetTensorImpl()] = {name, scope, true};
      }
    }));
    top = scopes[""];
    for (size_t i = 0; i < inputs.size(); i++) {
      const std::string name = drawing.add("input/input." + std::to_string(i + 1), "IO Node", {}, {autograd::InputMetadata(inputs[i])});
      found[inputs[i].unsafeGetTensorImpl()] = {name, "", false};
    }
    return found;
  }
};

RecordedRun::RecordedRun(nn::Module& model) : impl_(std::make_unique<Impl>(model)) {
  model.apply(nn::Module::ModuleApplyFunction([&](nn::Module& module) { impl_->modes.emplace_back(&module, module.is_training()); }));
  model.eval();
  for (Tensor& parameter : model.parameters()) {
    if (parameter.requires_grad() || !parameter.is_leaf() || (!parameter.is_floating_point() && !parameter.is_complex())) continue;
    parameter.requires_grad_(true);
    impl_->frozen.push_back(parameter);
  }
}
RecordedRun::~RecordedRun() {
  for (Tensor& parameter : impl_->frozen) parameter.requires_grad_(false);
  for (const auto& [module, is_training] : impl_->modes) module->train(is_training);  // those above come first
}

Tensor RecordedRun::input(const Tensor& tensor) {
  Tensor leaf = tensor.defined() ? tensor.detach() : tensor;
  if (leaf.defined()) {
    if (leaf.is_floating_point() || leaf.is_complex()) leaf.requires_grad_(true);
    impl_->inputs.push_back(leaf);
  }
  return leaf;
}
void RecordedRun::output(const Tensor& tensor) {
  if (tensor.defined()) impl_->outputs.push_back(tensor);
}

std::string RecordedRun::graph() const {
  Drawing drawing;
  std::string top;
  const auto leaves = impl_->leaves(drawing, top);
  std::unordered_map<const Node*, Impl::Drawn> drawn;

  const auto draw = [&](const Node* node) -> Impl::Drawn {
    if (const auto* leaf = dynamic_cast<const autograd::AccumulateGrad*>(node)) {
      const auto known = leaves.find(leaf->variable().unsafeGetTensorImpl());
      if (known != leaves.end()) return known->second;
      return {drawing.add(joined(top, "constant"), "Const", {}, {autograd::InputMetadata(leaf->variable())}), "", false};
    }
    std::vector<std::string> inputs;
    std::string scope;
    bool of_parameters = true;
    for (const autograd::Edge& edge : node->next_edges()) {
      if (!edge.is_valid()) continue;
      const Impl::Drawn& from = drawn.at(edge.function.get());
      inputs.push_back(edge.input_nr ? from.name + ":" + std::to_string(edge.input_nr) : from.name);
      of_parameters = of_parameters && from.of_parameters;
      if (from.of_parameters && from.scope.size() > scope.size()) scope = from.scope;
    }
    std::vector<autograd::InputMetadata> outputs;
    for (uint32_t i = 0; i < node->num_inputs(); i++) outputs.push_back(node->input_metadata(i));
    const std::string op = operator_of(node->name());
    const bool is_view_of_parameters = of_parameters && inputs.size() == 1;
    return {drawing.add(joined(scope.empty() ? top : scope, op), "aten::" + op, inputs, outputs), scope, is_view_of_parameters};
  };
  // A node is drawn when all are that it takes.
  for (const Tensor& output : impl_->outputs) {
    std::vector<std::pair<const Node*, size_t>> open;
    const auto edge = output.requires_grad() ? autograd::impl::gradient_edge(output) : autograd::Edge();
    if (edge.is_valid() && !drawn.count(edge.function.get())) open.emplace_back(edge.function.get(), 0);
    while (!open.empty()) {
      auto& [node, next] = open.back();
      if (next == node->next_edges().size()) {
        const Node* done = node;
        open.pop_back();
        if (!drawn.count(done)) drawn[done] = draw(done);
        continue;
      }
      const autograd::Edge& below = node->next_edge(next++);
      if (below.is_valid() && !drawn.count(below.function.get())) open.emplace_back(below.function.get(), 0);
    }
    std::vector<std::string> from;
    if (edge.is_valid()) from.push_back(drawn.at(edge.function.get()).name + (edge.input_nr ? ":" + std::to_string(edge.input_nr) : ""));
    drawing.add("output/output." + std::to_string(&output - impl_->outputs.data() + 1), "IO Node", from, {autograd::InputMetadata(output)});
  }
  return drawing.graph();
}

}  // namespace cresset::train
