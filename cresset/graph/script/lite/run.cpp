// The machine that runs bytecode.

#include "cresset/graph/script/lite/run.h"

#include <algorithm>

#include "cresset/autograd/grad_mode.h"
#include "cresset/graph/runtime/limits.h"
#include "cresset/graph/runtime/machine.h"
#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/upgrade.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

namespace {

// Whether a value may be given for a type that may have variables.
bool may_be(const Datum& v, const Type& t) {
  if (!has_variables(t)) return value_fits(v, t) || (t.kind() == TypeKind::Float && v.isInt());
  if (is_variable(t)) return true;
  switch (t.kind()) {
    case TypeKind::List: return v.isList() && !v.isTuple();
    case TypeKind::Dict: return v.isGenericDict();
    case TypeKind::Tuple: return v.isTuple();
    case TypeKind::Optional: return v.is_none() || may_be(v, t.elements()[0]);
    default: return true;
  }
}
bool takes(const Schema& schema, const std::vector<Datum>& arguments) {
  if (arguments.size() > schema.arguments.size()) return false;
  for (size_t i = 0; i < schema.arguments.size(); i++) {
    const SchemaArgument& a = schema.arguments[i];
    if (i < arguments.size() ? !may_be(arguments[i], a.type) : !a.default_value) return false;
  }
  return true;
}
// dtypes and their kin are numbers in files.
void become(Datum& v, const Type& type) {
  const Type& t = type.kind() == TypeKind::Optional ? type.elements()[0] : type;
  if (!v.is<int64_t>()) return;
  if (t.kind() == TypeKind::DType) v = Datum(dtype_of_number(v.to_int()));
  else if (t.kind() == TypeKind::Layout) v = Datum(layout_of_number(v.to_int()));
  else if (t.kind() == TypeKind::MemoryFormat) v = Datum(static_cast<MemoryFormat>(v.to_int()));
}
size_t count_results_among(const Candidate& c) {
  if (!c.op || !(c.op->flags & dispatch::kOutOp)) return 0;
  const auto& a = c.schema.arguments;
  return static_cast<size_t>(std::count_if(a.begin(), a.end(), [](const SchemaArgument& s) { return s.writes && s.keyword_only; }));
}
// Defaults go without saying; arguments that are written, the last `results`, stand behind them. False: one without a default is lacking, whose name is `lacking`.
bool add_defaults(std::vector<Datum>& arguments, const std::vector<SchemaArgument>& schema, size_t results, std::string& lacking) {
  results = std::min(results, arguments.size());
  const size_t at = arguments.size() - results, missing = schema.size() - arguments.size();
  for (size_t i = 0; i < missing; i++) {
    const SchemaArgument& a = schema[at + i];
    lacking = a.name;
    if (!a.default_value) return false;
    arguments.insert(arguments.begin() + static_cast<ptrdiff_t>(at + i), *a.default_value);
  }
  return true;
}
std::vector<Datum> take(dispatch::Stack& stack, size_t n) {
  CRESSET_CHECK(n <= stack.size(), "bytecode: stack underflow: ", n, " values are wanted, and there are ", stack.size());
  std::vector<Datum> out(std::make_move_iterator(stack.end() - static_cast<ptrdiff_t>(n)), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - n);
  return out;
}
Datum pop(dispatch::Stack& stack) { return std::move(take(stack, 1)[0]); }

}  // namespace

LiteOperator::LiteOperator(const std::string& name, const std::string& overload, int64_t given, int64_t version)
    : name_(name), overload_(overload), given_(given), unpacks_(name == "prim::TupleUnpack"), older_(older_operator(name, overload, version)) {
  candidates_ = find_candidates(name);
  const auto found = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& c) { return c.schema.overload == overload; });
  if (found != candidates_.end()) {
    exact_ = true;
    std::rotate(candidates_.begin(), found, found + 1);
    return;
  }
  plain_ = find_builtin(text());
  if (plain_ && schema_of(*plain_)) plain_ = nullptr;
  if (!plain_ && name.compare(0, 6, "aten::") == 0) library_ = library_function(name.substr(6));
}

void LiteOperator::call(dispatch::Stack& stack, int64_t count) const {
  if (unpacks_) {
    const Datum tuple = pop(stack);
    const auto& elements = tuple.toTupleRef().elements();
    stack.insert(stack.end(), elements.begin(), elements.end());
    return;
  }
  if (older_ && call_older(stack, count)) return;
  if (plain_) {
    const auto n = static_cast<size_t>(count >= 0 ? count : given_ >= 0 ? given_ : plain_->min_inputs);
    return call_builtin(*plain_, nullptr, stack, take(stack, n));
  }
  const auto wanted_of = [&](const Schema& s) {
    return count >= 0 ? static_cast<size_t>(count) : given_ >= 0 ? static_cast<size_t>(given_) : s.arguments.size();
  };
  const auto wanted = [&](const Candidate& c) { return wanted_of(c.schema); };
  const Candidate* chosen = exact_ ? &candidates_[0] : nullptr;
  // The file knows the operator by an overload that ours has under another name: the values choose.
  for (auto c = candidates_.begin(); !chosen && c != candidates_.end(); ++c) {
    const size_t n = wanted(*c);
    if (n <= stack.size() && takes(c->schema, std::vector<Datum>(stack.end() - static_cast<ptrdiff_t>(n), stack.end()))) chosen = &*c;
  }
  if (!chosen && library_) {
    stack.push_back(library_->run(take(stack, wanted_of(library_->schema))));
    return;
  }
  CRESSET_CHECK(chosen, "bytecode: no form of ", name_, " takes the values that ", text(), " is called with");
  std::vector<Datum> arguments = take(stack, wanted(*chosen));
  const std::vector<SchemaArgument>& schema = chosen->schema.arguments;
  CRESSET_CHECK(arguments.size() <= schema.size(), "bytecode: ", text(), " takes at most ", schema.size(), " arguments, got ", arguments.size());
  std::string lacking;
  CRESSET_CHECK(add_defaults(arguments, schema, count_results_among(*chosen), lacking), "bytecode: ", text(), " is called without its argument '", lacking,
                "'");
  for (size_t i = 0; i < arguments.size(); i++) become(arguments[i], schema[i].type);
  if (chosen->op) return call_operator(*chosen, stack, std::move(arguments));
  call_builtin(*chosen->builtin, &chosen->schema, stack, arguments);
}

bool LiteOperator::call_older(dispatch::Stack& stack, int64_t count) const {
  const std::vector<SchemaArgument>& schema = older_->schema.arguments;
  const auto n = static_cast<size_t>(count >= 0 ? count : given_ >= 0 ? given_ : static_cast<int64_t>(schema.size()));
  if (n > stack.size() || n > schema.size()) return false;
  std::vector<Datum> arguments(stack.end() - static_cast<ptrdiff_t>(n), stack.end());
  const auto is_result = [](const SchemaArgument& a) { return a.keyword_only && !a.default_value; };
  std::string lacking;
  if (!add_defaults(arguments, schema, static_cast<size_t>(std::count_if(schema.begin(), schema.end(), is_result)), lacking)) return false;
  for (size_t i = 0; i < arguments.size(); i++) become(arguments[i], schema[i].type);
  if (!takes(older_->schema, arguments)) return false;
  stack.resize(stack.size() - n);
  stack.push_back(older_->run(std::move(arguments)));
  return true;
}

void LiteOperator::call_operator(const Candidate& c, dispatch::Stack& stack, std::vector<Datum> arguments) const {
  dispatch::call_boxed(*c.op, arguments);
  for (size_t i = 0; i < arguments.size(); i++) stack.push_back(shared(std::move(arguments[i]), i < c.schema.returns.size() ? c.schema.returns[i] : Type()));
}

void LiteOperator::call_builtin(const Builtin& builtin, const Schema* schema, dispatch::Stack& stack, const std::vector<Datum>& arguments) const {
  const auto n = static_cast<int64_t>(arguments.size());
  CRESSET_CHECK(n >= builtin.min_inputs && n <= builtin.max_inputs, "bytecode: ", text(), " is called with ", n, " arguments, expected ", builtin.min_inputs);
  std::vector<const Datum*> inputs;
  for (const Datum& v : arguments) inputs.push_back(&v);
  Datum out;
  builtin.run(inputs.data(), inputs.size(), out);
  if (schema ? schema->returns.empty() : builtin.name == "prim::Print" || builtin.name == "prim::RaiseException") return;
  if (schema && gives_values(*schema)) {
    for (const Datum& v : out.toTupleRef().elements()) stack.push_back(v);
    return;
  }
  stack.push_back(schema && schema->returns.size() == 1 ? shared(std::move(out), schema->returns[0]) : std::move(out));
}

void LiteFunction::check() const {
  const auto size = static_cast<int64_t>(instructions.size());
  CRESSET_CHECK(size > 0, "bytecode: ", name, " has no instructions");
  for (int64_t at = 0; at < size; at++) {
    const auto [code, x, n] = instructions[static_cast<size_t>(at)];
    const auto within = [&](int64_t i, size_t count) {
      CRESSET_CHECK(i >= 0 && i < static_cast<int64_t>(count), "bytecode: instruction ", at, " of ", name, " (", kCodeNames[static_cast<size_t>(code)],
                    ") names number ", i, " of ", count);
    };
    switch (code) {
      case Code::Op:
      case Code::OpN: within(x, operators.size()); break;
      case Code::LoadC: within(x, constants.size()); break;
      case Code::Load:
      case Code::Move:
      case Code::Store:
      case Code::DropR: within(x - 1, registers); break;
      case Code::StoreN:
        within(x - 1, registers);
        within(n - 1, registers);
        within(x + n - 2, registers);
        break;
      case Code::JumpIfNot:
      case Code::Jump: within(at + x, instructions.size()); break;
      case Code::Loop:
        within(at + x, instructions.size());
        CRESSET_CHECK(n >= 2, "bytecode: a loop over ", n, " values in ", name);
        break;
      case Code::ListConstruct:
      case Code::DictConstruct:
      case Code::NamedTupleConstruct: within(x, types.size()); break;
      case Code::IsInstance:
        within(x, types.size());
        within(n - 1, types.size());
        within(x + n - 1, types.size());
        break;
      case Code::InterfaceCall:
        within(x, constants.size());
        CRESSET_CHECK(n >= 1 && constants[static_cast<size_t>(x)].isString(), "bytecode: a call of no method in ", name);
        break;
      default: break;
    }
  }
}

namespace {

struct Depth {
  static int& now() {
    thread_local int depth = 0;
    return depth;
  }
  Depth() { now()++; }
  ~Depth() { now()--; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

// The frame of a call among those that a run with limits knows.
class FrameScope {
 public:
  FrameScope(Budget* budget, Frame& frame) : budget_(budget) {
    if (budget_) budget_->enter(frame);
  }
  ~FrameScope() {
    if (budget_) budget_->leave();
  }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  Budget* budget_;
};

class LiteMachine {
 public:
  LiteMachine(const LiteFunction& function, Frame& frame, Budget* budget) : f_(function), r_(frame.registers), stack_(frame.stack), budget_(budget) {}

  Datum run(std::vector<Datum> arguments) {
    r_.resize(f_.registers);
    stack_.assign(std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
    size_t at = 0;
    while (true) {
      const LiteInstruction& i = f_.instructions[at];
      if (i.code == Code::Return) return pop(stack_);
      if (budget_) budget_->count_instruction();
      at = budget_ && budget_->counts_memory() ? step_counted(i, at) : step(i, at);
      CRESSET_CHECK(at < f_.instructions.size(), "bytecode: ", f_.name, " runs over its end");
    }
  }

 private:
  // As Program's: containers grow by what is put into them, and new ones count once.
  size_t step_counted(const LiteInstruction& i, size_t at) {
    std::vector<std::pair<Datum, int64_t>> before;
    for (const Datum& v : stack_)
      if (v.object()) before.emplace_back(v, own_bytes(v));
    const size_t next = step(i, at);
    int64_t grown = 0;
    for (const auto& [v, bytes] : before) grown += own_bytes(v) - bytes;
    for (const Datum& v : stack_)
      if (!v.object() || v.object()->use_count() == 1) grown += own_bytes(v);
    if (grown != 0) budget_->grow(grown);
    return next;
  }
  Datum& reg(int64_t number) { return r_[static_cast<size_t>(number - 1)]; }
  void want(size_t n) const {
    CRESSET_CHECK(n <= stack_.size(), "bytecode: stack underflow in ", f_.name, ": ", n, " values are wanted, and there are ", stack_.size());
  }
  const Type& type(int64_t i) const { return f_.types[static_cast<size_t>(i)]; }
  ScriptObject& object(const Datum& v) const {
    ScriptObject* o = object_of(v);
    CRESSET_CHECK_TYPE(o, "bytecode: expected an object in ", f_.name, ", got ", v.kind());
    return *o;
  }
  static size_t further(size_t at, int64_t by) { return static_cast<size_t>(static_cast<int64_t>(at) + by); }

  size_t step(const LiteInstruction& i, size_t at) {
    switch (i.code) {
      case Code::Op: f_.operators[static_cast<size_t>(i.x)].call(stack_, -1); break;
      case Code::OpN: f_.operators[static_cast<size_t>(i.x)].call(stack_, i.n); break;
      case Code::Load: stack_.push_back(reg(i.x)); break;
      case Code::Move: stack_.push_back(std::exchange(reg(i.x), Datum())); break;
      case Code::Store: reg(i.x) = pop(stack_); break;
      case Code::StoreN: {
        std::vector<Datum> values = take(stack_, static_cast<size_t>(i.n));
        for (int64_t k = 0; k < i.n; k++) reg(i.x + k) = std::move(values[static_cast<size_t>(k)]);
        break;
      }
      case Code::Drop: pop(stack_); break;
      case Code::DropR: reg(i.x) = Datum(); break;
      case Code::LoadC: stack_.push_back(f_.constants[static_cast<size_t>(i.x)]); break;
      case Code::JumpIfNot: return further(at, pop(stack_).to_bool() ? 1 : i.x);
      case Code::Jump: return further(at, i.x);
      case Code::Loop: return loop(i, at);
      case Code::Return: break;
      case Code::GetAttr: {
        const Datum self = pop(stack_);
        stack_.push_back(slot(self, i.x));
        break;
      }
      case Code::SetAttr: {
        std::vector<Datum> pair = take(stack_, 2);
        slot(pair[0], i.x) = std::move(pair[1]);
        break;
      }
      case Code::ListConstruct: {
        const Type& t = type(i.x);
        CRESSET_CHECK_TYPE(t.kind() == TypeKind::List, "bytecode: a list of type ", annotation_text(t));
        stack_.push_back(make_list(element_kind(t.elements()[0]), take(stack_, static_cast<size_t>(i.n))));
        break;
      }
      case Code::TupleConstruct: stack_.push_back(Datum(dispatch::TupleObject::create(take(stack_, static_cast<size_t>(i.x))))); break;
      case Code::NamedTupleConstruct: stack_.push_back(Datum(dispatch::TupleObject::create(take(stack_, static_cast<size_t>(i.n))))); break;
      case Code::DictConstruct: {
        const Type& t = type(i.x);
        CRESSET_CHECK_TYPE(t.kind() == TypeKind::Dict, "bytecode: a dict of type ", annotation_text(t));
        std::vector<Datum> values = take(stack_, static_cast<size_t>(i.n));
        dispatch::GenericDict dict(element_kind(t.elements()[0]), element_kind(t.elements()[1]));
        for (size_t k = 0; k + 1 < values.size(); k += 2) dict.insert_or_assign(values[k], values[k + 1]);
        stack_.push_back(Datum(std::move(dict)));
        break;
      }
      case Code::ListUnpack: {
        const std::vector<Datum> elements = pop(stack_).toListVector();
        CRESSET_CHECK(static_cast<int64_t>(elements.size()) == i.x, "Expected ", i.x, " elements in a list but found ", elements.size());
        stack_.insert(stack_.end(), elements.begin(), elements.end());
        break;
      }
      case Code::TupleSlice: {
        const Datum tuple = pop(stack_);
        const auto& e = tuple.toTupleRef().elements();
        CRESSET_CHECK(i.x >= 0 && i.x <= i.n && i.n <= static_cast<int64_t>(e.size()), "bytecode: elements ", i.x, " to ", i.n, " of a tuple of ", e.size());
        stack_.push_back(Datum(dispatch::TupleObject::create(std::vector<Datum>(e.begin() + i.x, e.begin() + i.n))));
        break;
      }
      case Code::IsInstance: {
        const Datum v = pop(stack_);
        bool is = false;
        for (int64_t k = 0; k < i.n && !is; k++) is = value_fits(v, type(i.x + k));
        stack_.push_back(Datum(is));
        break;
      }
      case Code::InterfaceCall: {
        std::vector<Datum> arguments = take(stack_, static_cast<size_t>(i.n));
        const ScriptObject& self = object(arguments[0]);
        const std::string& method = f_.constants[static_cast<size_t>(i.x)].to_string();
        Function* f = self.cls->method(method);
        CRESSET_CHECK(f, self.cls->name, " has no method ", method);
        stack_.push_back(f->run(std::move(arguments)));
        break;
      }
    }
    return at + 1;
  }
  size_t loop(const LiteInstruction& i, size_t at) {
    const auto n = static_cast<size_t>(i.n) + 1;
    want(n);
    const auto base = stack_.end() - static_cast<ptrdiff_t>(n);
    const int64_t trip = base[0].to_int();
    if (trip < base[1].to_int() && base[2].to_bool()) {
      if (budget_) budget_->count_trip();
      base[0] = Datum(trip + 1);
      base[2] = Datum(trip);
      return at + 1;
    }
    stack_.erase(base, base + 3);
    return further(at, i.x);
  }
  Datum& slot(const Datum& self, int64_t number) {
    ScriptObject& o = object(self);
    CRESSET_CHECK(number >= 0 && number < static_cast<int64_t>(o.slots().size()), "bytecode: attribute ", number, " of an object of ", o.cls->name,
                  ", which has ", o.slots().size());
    return o.slots()[static_cast<size_t>(number)];
  }

  const LiteFunction& f_;
  std::vector<Datum>& r_;
  dispatch::Stack& stack_;
  Budget* budget_;
};

}  // namespace

Datum LiteFunction::run(std::vector<Datum> arguments, const Limits& limits) const {
  const Limits all = limits.and_also(LimitScope::current());
  const Depth deeper;
  CRESSET_CHECK(Depth::now() <= all.max_calls, "expected at most ", all.max_calls, " calls of methods within each other");
  std::optional<Budget> budget;
  std::optional<BudgetScope> scope;
  if (all.are_counted() && !budget_of_thread()) scope.emplace(budget.emplace(all));
  Frame frame;
  const FrameScope known(budget_of_thread(), frame);
  const bool records = autograd::GradMode::is_enabled();
  try {
    return LiteMachine(*this, frame, budget_of_thread()).run(std::move(arguments));
  } catch (...) {
    autograd::GradMode::set_enabled(records);
    throw;
  }
}

}  // namespace cresset::graph::script
