#include "cresset/graph/runtime/compile.h"

#include <algorithm>
#include <mutex>

#include "cresset/graph/runtime/element_kind.h"
#include "cresset/graph/runtime/packed.h"
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

struct OwningCalls {
  std::mutex mutex;
  std::map<std::string, OwningCall, std::less<>> by_name;
};
OwningCalls& owning_calls() {
  static auto* const calls = new OwningCalls();
  return *calls;
}

}  // namespace

void set_owning_call(const std::string& op, OwningCall call) {
  OwningCalls& calls = owning_calls();
  const std::lock_guard lock(calls.mutex);
  calls.by_name[op] = call;
}
OwningCall find_owning_call(const dispatch::OpEntry& op) {
  OwningCalls& calls = owning_calls();
  const std::lock_guard lock(calls.mutex);
  const auto found = calls.by_name.find(std::string_view(op.name));
  return found == calls.by_name.end() ? nullptr : found->second;
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
    shorten_jumps();
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
  void give(const Value* v) {
    if (!placed_.count(v)) free_[static_cast<int>(bank_of(v->type()))].push_back(registers_.at(v));
  }

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
    if (inputs.size() > 0) i.first = inputs[0];
    if (inputs.size() > 1) i.second = inputs[1];
    if (outputs.size() > 0) i.out = outputs[0];
    code_.instructions.push_back(i);
    std::string place = "node " + n.text_name();
    if (const auto& l = n.location()) place += " (" + l->file + ":" + std::to_string(l->line) + (l->function.empty() ? "" : ", in " + l->function) + ")";
    code_.places.push_back(std::move(place));
    code_.locations.push_back(n.location());
    return code_.instructions.size() - 1;
  }
  void take_back() {
    code_.instructions.pop_back();
    code_.places.pop_back();
    code_.locations.pop_back();
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
      if (leaves_to_branch(*n, last)) continue;
      lets_go_ = holds_memory(last[n.get()]);
      node(*n);
      drop(last[n.get()]);
    }
    at_return_[&b] = std::move(last[b.return_node()]);
  }
  std::vector<int32_t> take_outputs(const Node& n) {
    std::vector<int32_t> outputs;
    for (const auto& o : n.outputs()) {
      const auto placed = placed_.find(o.get());
      outputs.push_back(registers_[o.get()] = placed != placed_.end() ? placed->second : take(bank_of(o->type())));
    }
    return outputs;
  }

  // ---- numbers that branches and loops give out are computed in the register where they are wanted

  static bool is_number(const Type& t) { return t.kind() == TypeKind::Int || t.kind() == TypeKind::Float || t.kind() == TypeKind::Bool; }
  // Whether a result of the block may be computed in a register of its type that others do not use meanwhile.
  bool can_be_placed(const Value& result, const Block& b, const Type& wanted) const {
    return result.node() && &result.node()->owner() == &b && is_number(wanted) && result.type().kind() == wanted.kind() && !placed_.count(&result) &&
           std::count(b.results().begin(), b.results().end(), &result) == 1;
  }
  size_t order_of(const Node& n) {
    const auto found = order_.find(&n);
    if (found != order_.end()) return found->second;
    size_t i = 0;
    for (const auto& other : n.owner().nodes()) order_[other.get()] = i++;
    return order_.at(&n);
  }
  // Whether this use of `old`, whose register `made` is computed in, comes when `made` may be there already.
  bool comes_late(const Use& use, const Value& old, const Value& made) {
    const Node& def = *made.node();
    const Node* at = use.node;
    while (&at->owner() != &def.owner()) at = at->owner().owner();
    if (at != &def) return order_of(*at) > order_of(def);
    if (def.kind() == NodeKind::Loop) return false;
    if (def.kind() != NodeKind::If) return def.kind() != NodeKind::Builtin || !find_number_step(*def.builtin());
    if (use.node == &def) return false;
    const Block* b = &use.node->owner();
    while (b->owner() != &def) b = &b->owner()->owner();
    const Value& result = *b->results()[made.index()];
    if (&result == &old) return use.node == b->return_node() && use.input != made.index();
    if (can_be_placed(result, *b, made.type())) return comes_late(use, old, result);
    return use.node == b->return_node();
  }
  void place_results(const Node& n, const std::vector<int32_t>& outputs) {
    for (const auto& b : n.blocks())
      for (size_t i = 0; i < outputs.size(); i++)
        if (const Value& v = *b->results()[i]; can_be_placed(v, *b, n.output(i)->type())) placed_[&v] = outputs[i];
  }
  void place_carried(const Block& b, int32_t condition, const std::vector<int32_t>& carried) {
    for (size_t i = 0; i < b.results().size(); i++) {
      const Value &made = *b.results()[i], &old = *b.parameter(i);
      if (!can_be_placed(made, b, i == 0 ? Type(TypeKind::Bool) : old.type())) continue;
      if (i > 0 && std::any_of(old.uses().begin(), old.uses().end(), [&](const Use& u) { return comes_late(u, old, made); })) continue;
      placed_[&made] = i == 0 ? condition : carried[i];
    }
  }
  // Pairs of one register need no copy.
  static void leave_out_equal(std::vector<int32_t>& from, std::vector<int32_t>& to, std::vector<Value*>& values) {
    size_t kept = 0;
    for (size_t i = 0; i < from.size(); i++) {
      if (from[i] == to[i]) continue;
      from[kept] = from[i], to[kept] = to[i], values[kept] = values[i];
      kept++;
    }
    from.resize(kept), to.resize(kept), values.resize(kept);
  }
  // The comparison that only the branch after it asks for is a part of the branch.
  static const Node* comparison_of(const Node& branch) {
    const Node* n = branch.input(0)->node();
    const bool is_part = n && n->kind() == NodeKind::Builtin && n->next() == &branch && n->output()->uses().size() == 1 && find_compare_branch(*n->builtin());
    return is_part ? n : nullptr;
  }
  // Whether the node is such a comparison: it has no instruction, and the branch lets go of its values.
  bool leaves_to_branch(const Node& n, std::unordered_map<const Node*, std::vector<const Value*>>& last) {
    const Node* next = n.next();
    if (n.kind() != NodeKind::Builtin || next->kind() != NodeKind::If || comparison_of(*next) != &n) return false;
    placed_[n.output()] = registers_[n.output()] = -1;
    auto& later = last[next];
    later.insert(later.end(), last[&n].begin(), last[&n].end());
    return true;
  }
  // Jumps to jumps, and to the ends of loops.
  void shorten_jumps() {
    for (Instruction& i : code_.instructions) {
      while (i.step == step_jump && !i.num_drops) {
        if (i.jump >= code_.instructions.size()) break;
        const Instruction to = code_.instructions[i.jump];
        if (to.num_drops) break;
        if (to.step == step_jump) i.jump = to.jump;
        else if (to.step == step_next || to.step == step_next_trip) i = to;
        else break;
      }
    }
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

  // Whether only the node reads the list of its second input, which was made for it.
  static bool owns_list(const Node& n) {
    const Value* list = n.inputs().size() == 2 && n.outputs().size() == 1 ? n.input(1) : nullptr;
    return list && list->node() && list->node()->kind() == NodeKind::List && list->uses().size() == 1;
  }

  void op(const Node& n) {
    const std::vector<int32_t> inputs = registers_of(n.inputs());
    if (const OwningCall call = find_owning_call(*n.op()); call && owns_list(n)) {
      code_.instructions[emit(step_owning, n, inputs, take_outputs(n), n.op())].prepared = reinterpret_cast<const void*>(call);
      return;
    }
    std::vector<const Datum*> constants;
    for (const Value* v : n.inputs()) constants.push_back(v->constant());
    TypedCall typed = find_packed_call(n, constants);
    if (!typed.step && !gives_shared_lists(n)) typed = find_typed_call(*n.op(), constants, inputs);
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
    place_results(n, outputs);
    const Node* compared = comparison_of(n);
    const size_t branch = compared ? emit(find_compare_branch(*compared->builtin()), *compared, registers_of(compared->inputs()), {}, compared->builtin())
                                   : emit(step_branch, n, registers_of(n.inputs()), {});
    inside(n, *n.blocks()[0], outputs, 0);
    const size_t jump = emit(step_jump, n, {}, {});
    code_.instructions[branch].jump = here();
    inside(n, *n.blocks()[1], outputs, 0);
    if (here() == jump + 1 && !lets_go) {
      take_back();
      code_.instructions[branch].jump = here();
      return;
    }
    if (lets_go) emit(step_copy, n, {}, {});  // both ways meet here, where inputs are let go of
    code_.instructions[jump].jump = here() - (lets_go ? 1 : 0);
  }
  // The nodes of a nested block, and its results from `skip` on into registers.
  void inside(const Node& n, const Block& b, const std::vector<int32_t>& outputs, size_t skip) {
    nodes(b);
    std::vector<Value*> results(b.results().begin() + static_cast<std::ptrdiff_t>(skip), b.results().end());
    std::vector<int32_t> from = registers_of(results), to = outputs;
    leave_out_equal(from, to, results);
    if (!to.empty() || holds_memory(at_return_[&b])) emit(to.size() == 1 ? step_copy_one : step_copy, n, from, to);
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
    const std::vector<int32_t> tested{counter, registers_.at(n.input(0)), condition};
    const size_t test = emit(step_loop, n, tested, {});
    body(n, b, condition, carried);
    const size_t next = emit(goes_on(n) ? step_next_trip : step_next, n, tested, {counter});
    code_.instructions[next].jump = static_cast<uint32_t>(test) + 1;
    code_.instructions[next].exit = code_.instructions[test].jump = here();
    emit(step_copy, n, std::vector<int32_t>(carried.begin() + 1, carried.end()), outputs);
    Instruction& last = code_.instructions.back();
    last.drops = keep(carried);
    last.num_drops = static_cast<uint32_t>(carried.size());
    for (const auto& p : b.parameters()) give(p.get());
    free_[static_cast<int>(Bank::Bool)].push_back(condition);
  }
  // Whether the loop makes all its trips, whatever happens within.
  static bool goes_on(const Node& loop) {
    const auto is_true = [](const Value* v) { return v->is_constant() && v->constant()->isBool() && v->constant()->toBool(); };
    return is_true(loop.input(1)) && is_true(loop.blocks()[0]->results()[0]);
  }
  // A result may be a parameter that another result replaces: all are read before one is written.
  void body(const Node& n, const Block& b, int32_t condition, const std::vector<int32_t>& carried) {
    place_carried(b, condition, carried);
    auto last = last_uses(b);
    for (const auto& inside : b.nodes()) {
      if (inside->kind() == NodeKind::Return) break;
      if (leaves_to_branch(*inside, last)) continue;
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
    if (goes_on(n)) {
      from.erase(from.begin());
      to.erase(to.begin());
      results.erase(results.begin());
    }
    leave_out_equal(from, to, results);
    std::vector<const Value*> done;
    for (const Value* v : last[b.return_node()])
      if (!v->block()) done.push_back(v);
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
    } else if (!to.empty() || holds_memory(done)) {
      emit(from.size() == 1 ? step_copy_one : step_copy, n, from, to);
    }
    drop(done);
  }

  const Graph& graph_;
  Program::Code& code_;
  const std::map<std::string, Program::Code*>& codes_;
  std::unordered_map<const Value*, int32_t> registers_;
  std::unordered_map<std::string, int32_t> plain_;
  std::vector<int32_t> free_[kBanks];
  std::unordered_map<const Block*, std::vector<const Value*>> at_return_;
  std::unordered_map<const Value*, int32_t> placed_;  // values whose register is that of another, or that have none
  std::unordered_map<const Node*, size_t> order_;
  int32_t next_ = 0, zero_ = 0;
  bool lets_go_ = false;  // whether something that holds memory ends with the node that is being compiled
};

}  // namespace

void compile(const Graph& graph, Program::Code& code, const std::map<std::string, Program::Code*>& codes) { Compiler(graph, code, codes).run(); }

}  // namespace cresset::graph
