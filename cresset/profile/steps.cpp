#include "cresset/profile/steps.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "cresset/profile/arguments.h"
#include "cresset/profile/flops.h"

namespace cresset::profile {

namespace {

// Steps that compute nothing. One whose own steps all compute nothing is of their kind.
bool only_looks(const Step& step) {
  static const std::unordered_set<std::string_view> names = {"aten::as_strided",
                                                             "aten::view",
                                                             "aten::_unsafe_view",
                                                             "aten::_reshape_alias",
                                                             "aten::empty",
                                                             "aten::empty_strided",
                                                             "aten::empty_like",
                                                             "aten::resize_",
                                                             "aten::resolve_conj",
                                                             "aten::resolve_neg",
                                                             "aten::result_type",
                                                             "aten::detach",
                                                             "detach",
                                                             "aten::alias",
                                                             "aten::to",
                                                             "aten::as_strided_",
                                                             "aten::lift_fresh",
                                                             "aten::detach_",
                                                             "aten::view_as_real"};
  if (step.is_kernel) return false;
  if (step.children.empty()) return names.count(step.name) != 0;
  return std::all_of(step.children.begin(), step.children.end(), only_looks);
}
// Steps that only prepare what another computes.
bool prepares(const Step& step) {
  static const std::unordered_set<std::string_view> names = {"aten::clone", "aten::copy_", "aten::contiguous", "aten::fill_", "aten::zero_", "aten::to"};
  return names.count(step.name) != 0;
}

// The step that the time of the one around it goes to; null: it computes itself.
const Step* working(const Step& around) {
  if (around.is_kernel) return nullptr;
  const Step* preparing = nullptr;
  for (const Step& s : around.children) {
    if (only_looks(s)) continue;
    if (!prepares(s)) return &s;
    if (!preparing) preparing = &s;
  }
  return preparing;
}
bool takes_memory(const Step& step) {
  return step.name == "aten::empty" || step.name == "aten::empty_strided" || step.name == "aten::empty_like" || step.name == "aten::resize_";
}
// The step that the memory goes to; null: the one around it.
const Step* taking(const Step& around) {
  for (const Step& s : around.children)
    if (takes_memory(s)) return &s;
  return working(around);
}

class Rewriting {
 public:
  Rewriting(ThreadLog& log, const Options& options) : log_(log), options_(options), old_(std::move(log.events)), within_(old_.size()), place_(old_.size(), -1) {
    for (size_t i = 0; i < old_.size(); i++)
      if (old_[i].parent >= 0) within_[static_cast<size_t>(old_[i].parent)].push_back(i);
    log_.events.clear();
    log_.events.reserve(old_.size() * 2);
    for (const Event& e : old_)
      if (e.op && e.parent >= 0 && old_[static_cast<size_t>(e.parent)].scope == Scope::BackwardFunction && e.op->function_schema().name == "mul" &&
          e.facts.size() > 1 && (e.facts[1].kind == Fact::kNumber || e.facts[1].is_wrapped))
        scaled_.insert(e.sequence_nr);
  }
  void run() {
    find_layers();
    for (size_t i = 0; i < old_.size(); i++)
      if (old_[i].parent < 0 && !is_part_of_layer(old_[i])) write(i, -1);
    for (MemoryEvent& m : log_.memory)
      if (m.event >= 0) m.event = place_[static_cast<size_t>(m.event)];
  }

 private:
  // Nodes of the calls that recurrent layers are made of here: PyTorch has one for each layer.
  void find_layers() {
    for (size_t i = 0; i < old_.size(); i++) {
      if (!is_call(i, "lstm") || old_[i].sequence_nr < 0) continue;
      int64_t last = INT64_MAX;
      for (size_t later = i + 1; later < old_.size(); later++)
        if (old_[later].op && old_[later].parent == old_[i].parent && old_[later].sequence_nr >= 0) {
          last = old_[later].sequence_nr;
          break;
        }
      layers_.emplace_back(old_[i].sequence_nr, last);
    }
  }
  bool is_of_layer(const Event& node) const {
    return std::any_of(layers_.begin(), layers_.end(), [&](const auto& range) { return node.sequence_nr >= range.first && node.sequence_nr < range.second; });
  }
  bool is_part_of_layer(const Event& node) const {
    return !node.op && node.name.rfind("autograd::engine::evaluate_function: ", 0) == 0 && is_of_layer(node) &&
           node.name != "autograd::engine::evaluate_function: RnnLayerBackward0";
  }
  // Whether all that ran within it are calls of operators, which the steps can stand for.
  bool is_plain(size_t i) const {
    return std::all_of(within_[i].begin(), within_[i].end(), [&](size_t child) { return old_[child].op && is_plain(child); });
  }
  // Bytes of the calls within it.
  int64_t memory_within(size_t i) const {
    int64_t memory = 0;
    for (const size_t child : within_[i]) memory += old_[child].memory + memory_within(child);
    return memory;
  }
  void put_at(size_t i, int32_t place) {
    place_[i] = place;
    for (const size_t child : within_[i]) put_at(child, place);
  }
  void write(size_t i, int32_t parent) {
    const auto at = static_cast<int32_t>(log_.events.size());
    const StepRow* row = row_of(old_[i]);
    if (row && row->rule && is_plain(i)) return write_with_steps(i, parent, *row);
    place_[i] = at;
    Event& event = log_.events.emplace_back(std::move(old_[i]));
    event.parent = parent;
    if (row && row->shown_as) event.name = std::string("aten::") + row->shown_as;
    event.facts.clear();
    if (!event.op && is_scaling_node(event)) event.name.back() = '1';
    if (!event.op && is_of_layer(event))
      if (const size_t place = event.name.find("RnnLayerBackward0"); place != std::string::npos) event.name.insert(place, "Mkldnn");
    write_children(i, at);
    if (event_name(at) == "autograd::engine::evaluate_function: NllLossBackward0" && calls(i, "_cross_entropy_backward")) write_log_softmax_node(at);
  }
  void write_with_steps(size_t i, int32_t parent, const StepRow& row) {
    Step around;
    around.is_kernel = row.is_kernel;
    around.inputs = std::move(old_[i].facts);
    Steps steps(around);
    row.rule(steps, around.inputs);
    const int64_t memory = std::exchange(old_[i].memory, 0) + memory_within(i);
    const int64_t start = old_[i].start_ns, end = old_[i].end_ns;
    if (row.before) write_call(row.before, {}, parent, start, start);
    int32_t within = parent;
    if (!row.is_spliced) {
      within = static_cast<int32_t>(log_.events.size());
      Event& event = log_.events.emplace_back(std::move(old_[i]));
      event.parent = parent;
      if (row.shown_as) event.name = std::string("aten::") + row.shown_as;
    }
    const int32_t taking = write_steps(around, within, start, end);
    if (taking >= 0) log_.events[static_cast<size_t>(taking)].memory += memory;
    put_at(i, taking);
  }
  // A product by a number that a gradient made is the second kind of node; one that a program made is the first.
  bool is_scaling_node(const Event& e) const {
    constexpr std::string_view name = "MulBackward0";
    return e.name.size() >= name.size() && std::string_view(e.name).substr(e.name.size() - name.size()) == name && scaled_.count(e.sequence_nr);
  }
  const std::string& event_name(int32_t at) const { return log_.events[static_cast<size_t>(at)].name; }
  static const StepRow* row_of(const Event& e) {
    if (e.op) return step_row(*e.op);
    return e.facts.empty() ? nullptr : step_row(std::string_view(e.name).substr(6));
  }
  bool is_call(size_t i, std::string_view name) const { return old_[i].op && old_[i].op->function_schema().name == name; }
  bool calls(size_t i, std::string_view name) const {
    return std::any_of(within_[i].begin(), within_[i].end(), [&](size_t child) { return is_call(child, name) || calls(child, name); });
  }
  // Not shown, and its memory is its parent's.
  void hide(size_t i, int32_t at) {
    log_.events[static_cast<size_t>(at)].memory += old_[i].memory + memory_within(i);
    put_at(i, at);
  }
  void write_children(size_t i, int32_t at) {
    const std::string name = event_name(at);
    const bool is_node = log_.events[static_cast<size_t>(at)].scope == Scope::BackwardFunction;
    const auto& children = within_[i];
    if (name.rfind("enumerate(DataLoader)", 0) == 0 && !children.empty() && is_call(children.back(), "index_select")) return write_samples(children, at);
    if (name == "ConvolutionBackward0" && !children.empty()) return write_convolution(children, at);
    if (name == "MkldnnRnnLayerBackward0" && !children.empty()) {
      shared_ = 4;
      return write_layer_backward(children, at);
    }
    if (name == "torch::autograd::AccumulateGrad" && shared_ > 0) {
      shared_--;
      // Gradients of the two biases are one tensor here.
      if (children.size() == 1 && is_call(children[0], "clone") && !old_[children[0]].facts.empty()) {
        const Facts gradient{old_[children[0]].facts[0]};
        hide(children[0], at);
        return write_call("detach", gradient, at);
      }
    }
    const bool fused = name.rfind("Optimizer.step#", 0) == 0 && !children.empty() && is_call(children.back(), "_fused_sgd_");
    if (name == "PowBackward0" && !calls(i, "pow") && !children.empty() && !old_[children[0]].facts.empty())
      write_call("pow", {old_[children[0]].facts[0], number(1.0)}, at);
    for (const size_t child : children) {
      if ((is_node && is_call(child, "conj")) || (fused && is_call(child, "zeros_like"))) hide(child, at);
      else write(child, at);
    }
  }
  // A call that did not run, at the end of what has been written within its parent.
  void write_call(const char* name, Facts inputs, int32_t parent, int64_t start = -1, int64_t end = -1) {
    Step around;
    Steps(around).call(name, std::move(inputs));
    if (start < 0) start = end = log_.events[static_cast<size_t>(parent)].start_ns;
    write_steps(around, parent, start, end);
  }
  // The loader takes all samples of a batch at once.
  void write_samples(const std::vector<size_t>& children, int32_t at) {
    const size_t last = children.back();
    const Facts facts = old_[last].facts;
    const int64_t start = old_[last].start_ns, end = old_[last].end_ns;
    for (const size_t child : children) hide(child, at);
    Fact list;
    list.kind = Fact::kTensors;
    int64_t count = 1;
    for (const int64_t v : facts[2].sizes) count *= v;
    for (int64_t n = 0; n < count; n++) {
      write_call("select", {facts[0], number(int64_t{0}), number(n)}, at, start, start);
      SmallVector<int64_t, 4> sizes = facts[0].sizes;
      if (!sizes.empty()) sizes.erase(sizes.begin());
      list.tensors.push_back(tensor_fact(sizes, facts[0].dtype));
    }
    write_call("stack", {list, number(int64_t{0})}, at, start, end);
  }
  // The gradients with respect to input, weight and bias are one call.
  void write_convolution(const std::vector<size_t>& children, int32_t at) {
    const int64_t start = old_[children.front()].start_ns, end = old_[children.back()].end_ns;
    Fact grad, input, weight;
    bool by_input = false, by_weight = false, by_bias = false;
    for (const size_t child : children) {
      const Facts& f = old_[child].facts;
      if (is_call(child, "convolution_grad_input") && f.size() > 2) {
        by_input = true;
        grad = f[0];
        weight = f[1];
        input = tensor_fact(f[2].sizes, grad.dtype);
      } else if (is_call(child, "convolution_grad_weight") && f.size() > 2) {
        by_weight = true;
        grad = f[0];
        input = f[1];
        weight = tensor_fact(f[2].sizes, grad.dtype);
      } else if (is_call(child, "sum")) {
        by_bias = true;
      }
    }
    for (const size_t child : children) hide(child, at);
    write_call("convolution_backward", {grad, input, weight, flag(by_input), flag(by_weight), flag(by_bias)}, at, start, end);
  }
  void write_layer_backward(const std::vector<size_t>& children, int32_t at) {
    const int64_t start = old_[children.front()].start_ns, end = old_[children.back()].end_ns;
    Facts given;
    for (const size_t child : children) {
      if (given.empty()) given = old_[child].facts;
      hide(child, at);
    }
    write_call("mkldnn_rnn_layer_backward", given, at, start, end);
  }
  // The node after that of the loss, which one kernel does with it.
  void write_log_softmax_node(int32_t at) {
    const Event& before = log_.events[static_cast<size_t>(at)];
    const int64_t end = before.end_ns, sequence_nr = before.sequence_nr - 1;
    const int32_t parent = before.parent;
    int32_t within = parent;
    for (const char* name : {"autograd::engine::evaluate_function: LogSoftmaxBackward0", "LogSoftmaxBackward0", "aten::_log_softmax_backward_data"}) {
      const auto place = static_cast<int32_t>(log_.events.size());
      Event& event = log_.events.emplace_back();
      event.name = name;
      event.parent = within;
      event.is_step = true;
      event.start_ns = event.end_ns = end;
      event.sequence_nr = sequence_nr;
      if (name[0] == 'L') event.scope = Scope::BackwardFunction;
      within = place;
    }
  }
  // Gives the place of the step that memory is taken in.
  int32_t write_steps(const Step& around, int32_t parent, int64_t start, int64_t end) {
    const Step *works = working(around), *takes = taking(around);
    bool after = false;
    int32_t place = parent;
    for (const Step& s : around.children) {
      const auto at = static_cast<int32_t>(log_.events.size());
      Event& event = log_.events.emplace_back();
      event.name = s.name;
      event.parent = parent;
      event.is_step = true;
      event.start_ns = after ? end : start;
      event.end_ns = after || &s == works ? end : start;
      if (parent >= 0) {
        const Event& outer = log_.events[static_cast<size_t>(parent)];
        if (outer.scope == Scope::Function) event.sequence_nr = outer.sequence_nr;
        event.stack = outer.stack;
        event.module = outer.module;
      }
      if (options_.flops && s.name.rfind("aten::", 0) == 0) event.flops = flops_of(std::string_view(s.name).substr(6), s.inputs);
      if (options_.shapes)
        for (const Fact& f : s.inputs) event.inputs.push_back(input_of(f));
      after = after || &s == works;
      const int32_t within = write_steps(s, at, log_.events[static_cast<size_t>(at)].start_ns, log_.events[static_cast<size_t>(at)].end_ns);
      if (&s == takes) place = within;
    }
    return place;
  }

  ThreadLog& log_;
  const Options& options_;
  std::vector<Event> old_;
  std::vector<std::vector<size_t>> within_;
  std::vector<int32_t> place_;                       // of an old event in the new log
  std::vector<std::pair<int64_t, int64_t>> layers_;  // from which number of a node to which
  int shared_ = 0;                                   // how many gradients of parameters are still to come from the layer whose node ran last
  std::unordered_set<int64_t> scaled_;               // the numbers of nodes that scale by a number, made by gradients
};

}  // namespace

InputFact input_of(const Fact& f) {
  InputFact input;
  const auto add = [&](const Fact& t) {
    input.sizes.emplace_back(t.sizes.begin(), t.sizes.end());
    input.strides.emplace_back(t.strides.begin(), t.strides.end());
  };
  const auto text = [](double v) {
    std::string s = std::to_string(v);
    s.erase(s.find_last_not_of('0') + 1);
    return s.back() == '.' ? s + "0" : s;
  };
  switch (f.kind) {
    case Fact::kTensor:
      input.type = trace_type_name(f.dtype);
      add(f);
      break;
    case Fact::kTensors:
      input.type = "TensorList";
      input.is_list = true;
      for (const Fact& t : f.tensors) add(t);
      break;
    case Fact::kNumber:
      input.type = "Scalar";
      input.value = f.dtype == ScalarType::Bool        ? (f.number != 0 ? "True" : "False")
                    : is_integral_type(f.dtype, false) ? std::to_string(static_cast<int64_t>(f.number))
                                                       : text(f.number);
      break;
    case Fact::kDtype:
      input.type = "Scalar";
      input.value = std::to_string(static_cast<int>(f.dtype));
      break;
    case Fact::kSizes:
      input.type = "ScalarList";
      input.value = "[";
      for (const int64_t v : f.sizes) input.value += (input.value.size() > 1 ? ", " : "") + std::to_string(v);
      input.value += "]";
      break;
    default: break;
  }
  return input;
}

Fact none() { return {}; }
Fact number(double value) {
  Fact f;
  f.kind = Fact::kNumber;
  f.dtype = ScalarType::Double;
  f.number = value;
  return f;
}
Fact number(int64_t value) {
  Fact f = number(static_cast<double>(value));
  f.dtype = ScalarType::Long;
  return f;
}
Fact flag(bool value) {
  Fact f = number(value ? 1.0 : 0.0);
  f.dtype = ScalarType::Bool;
  return f;
}
Fact sizes_fact(ArrayRef<int64_t> sizes) {
  Fact f;
  f.kind = Fact::kSizes;
  f.sizes.append(sizes.begin(), sizes.end());
  return f;
}
Fact dtype_fact(ScalarType dtype) {
  Fact f;
  f.kind = Fact::kDtype;
  f.dtype = dtype;
  return f;
}
Fact tensor_fact(ArrayRef<int64_t> sizes, ScalarType dtype) {
  Fact f;
  f.kind = Fact::kTensor;
  f.dtype = dtype;
  f.sizes.append(sizes.begin(), sizes.end());
  f.strides.resize(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    f.strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return f;
}

Fact Steps::call(const char* name, Facts inputs) {
  const StepRow* row = name[0] == ':' ? nullptr : step_row(std::string_view(name));
  const std::string shown = name[0] == ':' ? std::string(name + 1) : std::string("aten::") + (row && row->shown_as ? row->shown_as : name);
  open_->children.push_back({shown, std::move(inputs), {}, row && row->is_kernel});
  Step* const before = open_;
  Step own = std::move(open_->children.back());
  open_ = &own;
  Fact out = row && row->rule ? row->rule(*this, own.inputs) : Fact();
  open_ = before;
  open_->children.back() = std::move(own);
  return out;
}

const StepRow* step_row(const dispatch::OpEntry& op) {
  const dispatch::FunctionSchema& schema = op.function_schema();
  return schema.ns == "cresset" || schema.ns == "aten" ? step_row(std::string_view(schema.name)) : nullptr;
}

void add_steps(ThreadLog& log, const Options& options) { Rewriting(log, options).run(); }

}  // namespace cresset::profile
