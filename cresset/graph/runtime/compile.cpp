#include "cresset/graph/runtime/compile.h"

#include <algorithm>

#include "cresset/graph/runtime/element_kind.h"
#include "cresset/graph/runtime/steps.h"

namespace cresset::graph {

dispatch::ElementKind element_kind(const Type& t) {
  using dispatch::ElementKind;
  switch (t.kind()) {
    case TypeKind::Tensor: return ElementKind::Tensor;
    case TypeKind::Int: return ElementKind::Int;
    case TypeKind::Float: return ElementKind::Double;
    case TypeKind::Bool: return ElementKind::Bool;
    case TypeKind::Complex: return ElementKind::Complex;
    case TypeKind::String: return ElementKind::String;
    case TypeKind::Device: return ElementKind::Device;
    case TypeKind::List: return ElementKind::List;
    case TypeKind::Dict: return ElementKind::Dict;
    case TypeKind::Tuple: return ElementKind::Tuple;
    case TypeKind::Optional: return t.elements()[0].is_tensor() ? ElementKind::OptionalTensor : ElementKind::Optional;
    default: return ElementKind::Any;
  }
}

namespace {

dispatch::ElementKind element_kind_of(const Type& list) {
  return list.kind() == TypeKind::List ? element_kind(list.elements()[0]) : dispatch::ElementKind::Any;
}
// Of keys and of values, in one number.
uint32_t dict_kinds_of(const Type& t) {
  if (t.kind() != TypeKind::Dict) return 0;
  return static_cast<uint32_t>(element_kind(t.elements()[0])) | static_cast<uint32_t>(element_kind(t.elements()[1])) << 8;
}

// Registers that hold values of one kind keep their room for the next one.
enum class Bank : uint8_t { Tensor, List, Int, Float, Bool, Other };
constexpr size_t kBanks = 6;
Bank bank_of(const Type& t) {
  switch (t.kind()) {
    case TypeKind::Tensor: return Bank::Tensor;
    case TypeKind::List: return Bank::List;
    case TypeKind::Int: return Bank::Int;
    case TypeKind::Float: return Bank::Float;
    case TypeKind::Bool: return Bank::Bool;
    default: return Bank::Other;
  }
}

class Compiler {
 public:
  Compiler(const Graph& graph, Program::Code& code, const std::map<std::string, Program::Code*>& codes) : graph_(graph), code_(code), codes_(codes) {}

  void run() {
    check();
    code_.name = graph_.name();
    for (const auto& c : graph_.constants())
      if (!c->uses().empty()) registers_[c.get()] = constant_register(*c);
    // Where loops begin to count.
    zero_ = static_cast<int32_t>(code_.constants.size());
    code_.constants.emplace_back(int64_t{0});
    next_ = zero_ + 1;
    for (const auto& p : graph_.block().parameters()) {
      registers_[p.get()] = take(bank_of(p->type()));
      code_.parameters.push_back(registers_[p.get()]);
    }
    nodes(graph_.block());
    for (const Value* v : graph_.block().results()) {
      const int32_t r = registers_.at(v);
      const bool moves = !v->is_constant() && std::count(graph_.block().results().begin(), graph_.block().results().end(), v) == 1;
      code_.results.push_back(r);
      code_.moves_result.push_back(moves);
    }
    code_.num_registers = static_cast<size_t>(next_);
  }

 private:
  // All that is missing, at once.
  void check() const {
    std::string missing;
    size_t count = 0;
    const auto add = [&](const std::string& what) {
      if (count++ < 20) missing += (missing.empty() ? "" : "; ") + what;
    };
    graph_.for_each([&](Node& n) {
      if (n.kind() == NodeKind::Foreign) add("node " + n.text_name() + ": no such operator");
      if (n.kind() == NodeKind::Call && !codes_.count(n.target())) add("node " + n.text_name() + ": there is no graph @" + n.target());
    });
    for (const auto& c : graph_.constants())
      if (!c->uses().empty() && c->type().is_tensor() && !(c->constant()->is_tensor() && c->constant()->to_tensor().defined()))
        add("the tensor @" + c->name() + " is not bound");
    CRESSET_CHECK_NOT_IMPLEMENTED(count == 0, "graph ", graph_.name(), " cannot run: ", missing,
                                  count > 20 ? str(", and ", count - 20, " more") : std::string());
  }

  int32_t constant_register(const Value& c) {
    const bool is_plain = !c.constant()->is_tensor() && !c.constant()->object();
    const std::string key = is_plain ? literal_text(*c.constant()) : "";
    if (is_plain)
      if (const auto found = plain_.find(key); found != plain_.end()) return found->second;
    const auto r = static_cast<int32_t>(code_.constants.size());
    code_.constants.push_back(*c.constant());
    if (is_plain) plain_[key] = r;
    return r;
  }
  int32_t take(Bank bank) {
    auto& free = free_[static_cast<int>(bank)];
    if (free.empty()) return next_++;
    const int32_t r = free.back();
    free.pop_back();
    return r;
  }
  void give(const Value* v) { free_[static_cast<int>(bank_of(v->type()))].push_back(registers_.at(v)); }

  const int32_t* keep(const std::vector<int32_t>& list) {
    if (list.empty()) return nullptr;
    code_.numbers.push_back(std::make_unique<int32_t[]>(list.size()));
    std::copy(list.begin(), list.end(), code_.numbers.back().get());
    return code_.numbers.back().get();
  }
  size_t emit(Step step, const Node& n, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs, const void* target = nullptr) {
    Instruction i;
    i.step = step;
    i.target = target;
    i.inputs = keep(inputs);
    i.outputs = keep(outputs);
    i.num_inputs = static_cast<uint32_t>(inputs.size());
    i.num_outputs = static_cast<uint32_t>(outputs.size());
    code_.instructions.push_back(i);
    std::string place = "node " + n.text_name();
    if (const auto& l = n.location()) place += " (" + l->file + ":" + std::to_string(l->line) + (l->function.empty() ? "" : ", in " + l->function) + ")";
    code_.places.push_back(std::move(place));
    code_.locations.push_back(n.location());
    return code_.instructions.size() - 1;
  }
  uint32_t here() const { return static_cast<uint32_t>(code_.instructions.size()); }
  // The last instruction lets go of these values, whose registers are free from then on.
  void drop(const std::vector<const Value*>& values) {
    if (values.empty()) return;
    std::vector<int32_t> list;
    for (const Value* v : values) {
      if (holds_memory(*v)) list.push_back(registers_.at(v));
      give(v);
    }
    if (list.empty()) return;
    Instruction& last = code_.instructions.back();
    for (uint32_t k = 0; k < last.num_drops; k++) list.push_back(last.drops[k]);
    last.drops = keep(list);
    last.num_drops = static_cast<uint32_t>(list.size());
  }

  // Numbers need not be let go of.
  static bool holds_memory(const Value& v) {
    const Bank bank = bank_of(v.type());
    return bank != Bank::Int && bank != Bank::Float && bank != Bank::Bool;
  }
  static bool holds_memory(const std::vector<const Value*>& values) {
    return std::any_of(values.begin(), values.end(), [](const Value* v) { return holds_memory(*v); });
  }

  std::vector<int32_t> registers_of(const std::vector<Value*>& values) const {
    std::vector<int32_t> list;
    for (const Value* v : values) list.push_back(registers_.at(v));
    return list;
  }

  // For each node of the block the values of the block that are not used after it; the return node has what its results are made of.
  std::unordered_map<const Node*, std::vector<const Value*>> last_uses(const Block& b) const {
    std::unordered_map<const Node*, size_t> order;
    for (const auto& n : b.nodes()) order.emplace(n.get(), order.size());
    std::unordered_map<const Node*, std::vector<const Value*>> last;
    const auto add = [&](const Value* v, const Node* made_by) {
      const Node* at = made_by;
      for (const Use& u : v->uses()) {
        const Node* n = u.node;
        while (&n->owner() != &b) n = n->owner().owner();
        if (!at || order.at(n) > order.at(at)) at = n;
      }
      if (at) last[at].push_back(v);
    };
    for (const auto& p : b.parameters()) add(p.get(), b.owner() || !p->uses().empty() ? nullptr : b.first());
    for (const auto& n : b.nodes())
      for (const auto& o : n->outputs()) add(o.get(), n.get());
    return last;
  }

  void nodes(const Block& b) {
    auto last = last_uses(b);
    for (const auto& n : b.nodes()) {
      if (n->kind() == NodeKind::Return) break;
      lets_go_ = holds_memory(last[n.get()]);
      node(*n);
      drop(last[n.get()]);
    }
    at_return_[&b] = std::move(last[b.return_node()]);
  }
  std::vector<int32_t> take_outputs(const Node& n) {
    std::vector<int32_t> outputs;
    for (const auto& o : n.outputs()) outputs.push_back(registers_[o.get()] = take(bank_of(o->type())));
    return outputs;
  }

  void node(const Node& n) {
    switch (n.kind()) {
      case NodeKind::Op: return op(n);
      case NodeKind::If: return branches(n);
      case NodeKind::Loop: return loop(n);
      case NodeKind::Builtin: {
        const Step step = find_number_step(*n.builtin());
        return plain(step ? step : step_builtin, n, n.builtin());
      }
      case NodeKind::List:
        if (!code_.options.script || only_operators_read(*n.output())) return plain(step_list, n);
        plain(step_shared_list, n);
        code_.instructions.back().jump = static_cast<uint32_t>(element_kind_of(n.output()->type()));
        return;
      case NodeKind::Tuple: return plain(step_tuple, n);
      case NodeKind::Dict:
        plain(step_dict, n);
        code_.instructions.back().jump = dict_kinds_of(n.output()->type());
        return;
      case NodeKind::Unpack: return plain(step_unpack, n);
      case NodeKind::Call: return plain(step_call, n, codes_.at(n.target()));
      case NodeKind::Return:
      case NodeKind::Foreign: break;
    }
    CRESSET_INTERNAL_ASSERT(false);
  }
  void plain(Step step, const Node& n, const void* target = nullptr) { emit(step, n, registers_of(n.inputs()), take_outputs(n), target); }

  void op(const Node& n) {
    const std::vector<int32_t> inputs = registers_of(n.inputs());
    std::vector<const Datum*> constants;
    for (const Value* v : n.inputs()) constants.push_back(v->constant());
    TypedCall typed = gives_shared_lists(n) ? TypedCall() : find_typed_call(*n.op(), constants, inputs);
    const size_t at = emit(typed.step ? typed.step : step_boxed, n, inputs, take_outputs(n), n.op());
    if (!typed.step) {
      if (gives_shared_lists(n)) code_.instructions[at].step = step_boxed_shared;
      return;
    }
    code_.instructions[at].prepared = typed.prepared.get();
    code_.prepared.push_back(std::move(typed.prepared));
    code_.num_typed++;
  }

  // Lists that a boxed call gives are shared ones in TorchScript.
  bool gives_shared_lists(const Node& n) const {
    const auto is_list = [](const auto& o) {
      const Type& t = o->type();
      return t.kind() == TypeKind::List || (t.kind() == TypeKind::Optional && t.elements()[0].kind() == TypeKind::List);
    };
    return code_.options.script && std::any_of(n.outputs().begin(), n.outputs().end(), is_list);
  }
  // Whether only operators read the list, which take it as they want it.
  bool only_operators_read(const Value& v) const {
    return std::all_of(v.uses().begin(), v.uses().end(), [](const Use& u) { return u.node->kind() == NodeKind::Op; });
  }

  void branches(const Node& n) {
    const bool lets_go = lets_go_;
    const std::vector<int32_t> outputs = take_outputs(n);
    const size_t branch = emit(step_branch, n, registers_of(n.inputs()), {});
    inside(n, *n.blocks()[0], outputs, 0);
    const size_t jump = emit(step_jump, n, {}, {});
    code_.instructions[branch].jump = here();
    inside(n, *n.blocks()[1], outputs, 0);
    if (lets_go) emit(step_copy, n, {}, {});  // both ways meet here, where inputs are let go of
    code_.instructions[jump].jump = here() - (lets_go ? 1 : 0);
  }
  // The nodes of a nested block, and its results from `skip` on into registers.
  void inside(const Node& n, const Block& b, const std::vector<int32_t>& outputs, size_t skip) {
    nodes(b);
    std::vector<Value*> results(b.results().begin() + static_cast<std::ptrdiff_t>(skip), b.results().end());
    if (!outputs.empty() || holds_memory(at_return_[&b])) emit(outputs.size() == 1 ? step_copy_one : step_copy, n, registers_of(results), outputs);
    drop(at_return_[&b]);
  }

  void loop(const Node& n) {
    const Block& b = *n.blocks()[0];
    const std::vector<int32_t> outputs = take_outputs(n);
    std::vector<int32_t> carried;
    for (const auto& p : b.parameters()) carried.push_back(registers_[p.get()] = take(bank_of(p->type())));
    const int32_t condition = take(Bank::Bool), counter = carried[0];
    std::vector<int32_t> starts{zero_, registers_.at(n.input(1))}, into{counter, condition};
    for (size_t i = 2; i < n.inputs().size(); i++) starts.push_back(registers_.at(n.input(i))), into.push_back(carried[i - 1]);
    emit(step_copy, n, starts, into);
    const size_t test = emit(step_loop, n, {counter, registers_.at(n.input(0)), condition}, {});
    body(n, b, condition, carried);
    const size_t next = emit(step_next, n, {}, {counter});
    code_.instructions[next].jump = static_cast<uint32_t>(test);
    code_.instructions[test].jump = here();
    emit(step_copy, n, std::vector<int32_t>(carried.begin() + 1, carried.end()), outputs);
    Instruction& last = code_.instructions.back();
    last.drops = keep(carried);
    last.num_drops = static_cast<uint32_t>(carried.size());
    for (const auto& p : b.parameters()) give(p.get());
    free_[static_cast<int>(Bank::Bool)].push_back(condition);
  }
  // A result may be a parameter that another result replaces: all are read before one is written.
  void body(const Node& n, const Block& b, int32_t condition, const std::vector<int32_t>& carried) {
    auto last = last_uses(b);
    for (const auto& inside : b.nodes()) {
      if (inside->kind() == NodeKind::Return) break;
      std::vector<const Value*> done;
      for (const Value* v : last[inside.get()])
        if (!v->block()) done.push_back(v);
      lets_go_ = holds_memory(done);
      node(*inside);
      drop(done);
    }
    std::vector<int32_t> from = registers_of(b.results()), to = carried;
    std::vector<Value*> results = b.results();
    to[0] = condition;
    const auto is_true = [](const Value* v) { return v->is_constant() && v->constant()->isBool() && v->constant()->toBool(); };
    if (is_true(n.input(1)) && is_true(b.results()[0])) {
      from.erase(from.begin());
      to.erase(to.begin());
      results.erase(results.begin());
    }
    const bool crosses = std::any_of(from.begin(), from.end(), [&](int32_t r) { return std::find(to.begin(), to.end(), r) != to.end(); });
    if (crosses) {
      std::vector<int32_t> between;
      for (const Value* v : results) between.push_back(take(bank_of(v->type())));
      emit(step_copy, n, from, between);
      emit(step_copy, n, between, to);
      Instruction& i = code_.instructions.back();
      i.drops = keep(between);
      i.num_drops = static_cast<uint32_t>(between.size());
      for (size_t k = 0; k < between.size(); k++) free_[static_cast<int>(bank_of(results[k]->type()))].push_back(between[k]);
    } else {
      emit(from.size() == 1 ? step_copy_one : step_copy, n, from, to);
    }
    std::vector<const Value*> done;
    for (const Value* v : last[b.return_node()])
      if (!v->block()) done.push_back(v);
    drop(done);
  }

  const Graph& graph_;
  Program::Code& code_;
  const std::map<std::string, Program::Code*>& codes_;
  std::unordered_map<const Value*, int32_t> registers_;
  std::unordered_map<std::string, int32_t> plain_;
  std::vector<int32_t> free_[kBanks];
  std::unordered_map<const Block*, std::vector<const Value*>> at_return_;
  int32_t next_ = 0, zero_ = 0;
  bool lets_go_ = false;  // whether something that holds memory ends with the node that is being compiled
};

}  // namespace

void compile(const Graph& graph, Program::Code& code, const std::map<std::string, Program::Code*>& codes) { Compiler(graph, code, codes).run(); }

}  // namespace cresset::graph
