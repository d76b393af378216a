// Files of the lite interpreter from modules.

#include <algorithm>

#include "cresset/graph/script/dtype_number.h"
#include "cresset/graph/script/lite/bytecode.h"
#include "cresset/graph/script/lite/lite.h"
#include "cresset/graph/script/lite/operators.h"
#include "cresset/graph/script/passes.h"
#include "cresset/graph/script/sugar.h"

namespace cresset::graph::script {

namespace {

bool is_builtin(const Node& n, std::string_view name) { return n.kind() == NodeKind::Builtin && n.builtin()->name == name; }
// Nodes whose result is their input, of another type.
bool is_cast(const Node& n) { return is_builtin(n, "prim::unchecked_cast") || is_builtin(n, "prim::dtype_of_int"); }
const Value* source_of(const Value* v) {
  while (v->node() && is_cast(*v->node())) v = v->node()->input(0);
  return v;
}

// The text of a type in tables of types.
std::string type_text(const Type& t) {
  const auto inside = [&] {
    std::string s;
    for (const Type& e : t.elements()) s += (s.empty() ? "" : ", ") + type_text(e);
    return s;
  };
  switch (t.kind()) {
    case TypeKind::List: return "List[" + inside() + "]";
    case TypeKind::Optional: return "Optional[" + inside() + "]";
    case TypeKind::Dict: return "Dict[" + inside() + "]";
    case TypeKind::Union: return "Union[" + inside() + "]";
    case TypeKind::Tuple: {
      if (t.name().empty()) return t.elements().empty() ? annotation_text(t) : "Tuple[" + inside() + "]";
      std::string s;
      for (size_t i = 0; i < t.elements().size(); i++) s += (i ? ",[" : "[") + t.fields()[i] + ", " + type_text(t.elements()[i]) + "]";
      return t.name() + "[NamedTuple, [" + s + "]]";
    }
    case TypeKind::Class: {
      const ClassType* const cls = class_of(t);
      CRESSET_CHECK(!cls || cls->custom || cls->kind == ClassKind::Module,
                    "__torch__ types other than torchbind (__torch__.torch.classes) are not supported in ",
                    "lite interpreter. Workaround: instead of using arbitrary class type (class Foo()), define a pytorch class (class Foo(torch.nn.Module)). ",
                    "The problematic type is: ", t.name());
      return t.name();
    }
    default: return annotation_text(t);
  }
}

struct WrittenInstruction {
  std::string name;
  int64_t x, n;
};
struct WrittenOperator {
  std::string name, overload;
  int64_t given;
  bool operator==(const WrittenOperator& o) const { return name == o.name && overload == o.overload && given == o.given; }
};
struct WrittenFunction {
  std::string name;
  const Schema* schema = nullptr;
  std::vector<WrittenInstruction> instructions;
  std::vector<WrittenOperator> operators;
  std::vector<std::pair<Datum, Type>> constants;
  std::vector<std::string> types;
  int64_t registers = 0;
};

class Emitter {
 public:
  Emitter(WrittenFunction& to, const LiteOptions& options) : f_(to), options_(options) {}

  void function(const Graph& g) {
    std::vector<const Value*> parameters;
    for (const auto& p : g.block().parameters()) parameters.push_back(p.get());
    number(g.block(), nullptr);
    store(parameters);
    block(g.block());
    add(Code::Return);
  }
  // The names of methods of interfaces that are called, with the interfaces.
  const std::vector<std::pair<const ClassType*, std::string>>& interface_calls() const { return interface_calls_; }

 private:
  // ---- lives of values

  // Notes for each value the node of its own block within or at which it is used last.
  void number(const Block& b, const Node* owner) {
    size_t place = 0;
    for (const auto& n : b.nodes()) {
      places_[n.get()] = {place++, &b};
      owners_[&b] = owner;
      for (const auto& inside : n->blocks()) number(*inside, n.get());
    }
  }
  // The node of the block that the node is, or is within.
  const Node* within(const Node* n, const Block& b) const {
    while (n && places_.at(n).second != &b) n = owners_.at(places_.at(n).second);
    return n;
  }
  static void for_each_use(const Value& v, const std::function<void(const Node&, size_t)>& visit) {
    for (const Use& u : v.uses()) {
      if (is_cast(*u.node)) for_each_use(*u.node->output(), visit);
      else if (!is_attribute(*u.node, u.input)) visit(*u.node, u.input);
    }
  }
  static const Block& home(const Value& v) { return v.node() ? v.node()->owner() : *v.block(); }
  const Node* last_use(const Value& v) {
    const auto [at, is_new] = last_.emplace(&v, nullptr);
    if (!is_new) return at->second;
    const Node* last = nullptr;
    for_each_use(v, [&](const Node& n, size_t) {
      const Node* const here = within(&n, home(v));
      if (!last || places_.at(here).first > places_.at(last).first) last = here;
    });
    return at->second = last;
  }

  // ---- instructions

  size_t add(Code code, int64_t x = 0, int64_t n = 0) { return add(kCodeNames[static_cast<size_t>(code)], x, n); }
  size_t add(std::string name, int64_t x, int64_t n) {
    f_.instructions.push_back({std::move(name), x, n});
    return f_.instructions.size() - 1;
  }
  int64_t here() const { return static_cast<int64_t>(f_.instructions.size()); }
  void jump_here(size_t from) { f_.instructions[from].x = here() - static_cast<int64_t>(from); }
  int64_t type_number(const Type& t) {
    f_.types.push_back(type_text(t));
    return static_cast<int64_t>(f_.types.size()) - 1;
  }
  void load_constant(const Datum& v, const Type& t) {
    if (v.isList()) {
      const std::vector<Datum> elements = v.toListVector();
      const Type list = t.kind() == TypeKind::Optional ? t.elements()[0] : t;
      const Type wanted = list.kind() == TypeKind::List ? list : Type::of(v);
      for (const Datum& e : elements) load_constant(e, wanted.elements()[0]);
      add(Code::ListConstruct, type_number(wanted), static_cast<int64_t>(elements.size()));
      return;
    }
    CRESSET_CHECK(v.isTuple() || !v.object(), "lite interpreter: a constant of type ", annotation_text(t), " cannot be written");
    const auto same_constant = [&](const std::pair<Datum, Type>& c) {
      return c.first.data().index() == v.data().index() && (v.is_none() || (!v.is_tensor() && !v.object() && !v.isDouble() && c.first == v));
    };
    const auto found = std::find_if(f_.constants.begin(), f_.constants.end(), same_constant);
    const auto number = found - f_.constants.begin();
    if (found == f_.constants.end()) f_.constants.emplace_back(v, t);
    add(Code::LoadC, number);
  }
  // The values in order on the stack. Those that `n` uses last move there.
  void load(const Node& n, const std::vector<const Value*>& values) {
    for (size_t i = 0; i < values.size(); i++) {
      const Value* v = source_of(values[i]);
      if (v->is_constant()) {
        load_constant(*v->constant(), v->type());
        continue;
      }
      const bool again = std::any_of(values.begin() + static_cast<ptrdiff_t>(i) + 1, values.end(), [&](const Value* w) { return source_of(w) == v; });
      const bool moves = !again && last_use(*v) == &n && n.blocks().empty();
      // A value that was put away just now is on the stack as it should be.
      if (i == 0 && moves && f_.instructions.back().name == "STORE" && f_.instructions.back().x == register_.at(v)) {
        f_.instructions.pop_back();
        continue;
      }
      add(moves ? Code::Move : Code::Load, register_.at(v));
    }
  }
  // Gives registers to what is on the stack, and lets go of what nothing uses.
  void store(const std::vector<const Value*>& values) {
    if (values.empty()) return;
    if (values.size() == 1 && !last_use(*values[0])) {
      add(Code::Drop);
      return;
    }
    const int64_t first = f_.registers + 1;
    for (const Value* v : values) register_[v] = ++f_.registers;
    if (values.size() == 1) add(Code::Store, first);
    else add(Code::StoreN, first, static_cast<int64_t>(values.size()));
    for (const Value* v : values)
      if (!last_use(*v)) add(Code::DropR, register_.at(v));
  }
  // After a node: values that only the blocks in it used go.
  void drop_after(const Node& n) {
    std::set<const Value*> seen;
    const std::function<void(const Node&)> visit = [&](const Node& inside) {
      for (const Value* input : inside.inputs()) {
        const Value* const v = source_of(input);
        if (!v->is_constant() && register_.count(v) && &home(*v) == &n.owner() && last_use(*v) == &n && seen.insert(v).second)
          add(Code::DropR, register_.at(v));
      }
      for (const auto& b : inside.blocks())
        for (const auto& m : b->nodes()) visit(*m);
    };
    if (!n.blocks().empty()) visit(n);
  }

  void block(const Block& b) {
    for (const auto& n : b.nodes()) {
      if (n->kind() == NodeKind::Return) return load(*n, {n->inputs().begin(), n->inputs().end()});
      if (is_cast(*n)) continue;
      node(*n);
      drop_after(*n);
    }
  }
  std::vector<const Value*> inputs(const Node& n) const {
    std::vector<const Value*> out;
    for (size_t i = 0; i < n.inputs().size(); i++)
      if (!is_attribute(n, i)) out.push_back(n.input(i));
    return out;
  }
  static std::vector<const Value*> outputs(const Node& n) {
    std::vector<const Value*> out;
    for (const auto& o : n.outputs()) out.push_back(o.get());
    return out;
  }

  void node(const Node& n) {
    switch (n.kind()) {
      case NodeKind::If: return branches(n);
      case NodeKind::Loop: return loop(n);
      case NodeKind::List:
      case NodeKind::Dict:
        load(n, inputs(n));
        add(n.kind() == NodeKind::List ? Code::ListConstruct : Code::DictConstruct, type_number(n.output()->type()), static_cast<int64_t>(n.inputs().size()));
        return store(outputs(n));
      case NodeKind::Tuple:
        load(n, inputs(n));
        if (n.output()->type().name().empty()) add(Code::TupleConstruct, static_cast<int64_t>(n.inputs().size()));
        else add(Code::NamedTupleConstruct, type_number(n.output()->type()), static_cast<int64_t>(n.inputs().size()));
        return store(outputs(n));
      case NodeKind::Unpack:
        load(n, inputs(n));
        if (n.input(0)->type().kind() == TypeKind::List) add(Code::ListUnpack, static_cast<int64_t>(n.outputs().size()));
        else call_operator({"prim::TupleUnpack", "", options_.gives_all_arguments ? -1 : 1});
        return store(outputs(n));
      case NodeKind::Op:
        if (const auto form = resize_form(n)) return resize(n, *form);
        return op(n, operator_of(*n.op()), *find_schema(n), (n.op()->flags & dispatch::kOutOp) != 0);
      case NodeKind::Builtin: return builtin(n);
      case NodeKind::Call: {
        const std::string name = library_operator(n.target());
        CRESSET_CHECK(!name.empty(), "lite interpreter: a call of ", n.target(), " that is not put in place");
        return op(n, operator_of_library(name), find_function(n.target())->schema, false);
      }
      default: CRESSET_CHECK(false, "lite interpreter: a node of an unknown operator cannot be written: ", n.op_name());
    }
  }

  void resize(const Node& n, const ResizeForm& form) {
    const std::vector<const Value*> all = inputs(n);
    load(n, {all.begin(), all.begin() + static_cast<ptrdiff_t>(form.arguments)});
    call_operator({"aten::" + form.name, "vec", options_.gives_all_arguments ? -1 : static_cast<int64_t>(form.arguments)});
    store(outputs(n));
  }

  void branches(const Node& n) {
    load(n, {n.input(0)});
    const size_t test = add(Code::JumpIfNot);
    block(*n.blocks()[0]);
    const size_t end = add(Code::Jump);
    jump_here(test);
    block(*n.blocks()[1]);
    jump_here(end);
    store(outputs(n));
  }
  void loop(const Node& n) {
    load_constant(Datum(int64_t{0}), TypeKind::Int);
    load(n, inputs(n));
    const auto carried = static_cast<int64_t>(n.outputs().size());
    const size_t start = add(Code::Loop, 0, carried + 2);
    const Block& body = *n.blocks()[0];
    std::vector<const Value*> parameters;
    for (const auto& p : body.parameters()) parameters.push_back(p.get());
    store(parameters);
    block(body);
    add(Code::Jump, static_cast<int64_t>(start) - here());
    jump_here(start);
    store(outputs(n));
  }

  void call_operator(const WrittenOperator& op, int64_t count = -1) {
    const auto found = std::find(f_.operators.begin(), f_.operators.end(), op);
    const auto number = found - f_.operators.begin();
    if (found == f_.operators.end()) f_.operators.push_back(op);
    if (count >= 0) add(Code::OpN, number, count);
    else add(Code::Op, number);
  }
  static bool is_default(const SchemaArgument& a, const Value& v) {
    if (!a.default_value || !v.is_constant()) return false;
    const Datum &given = *v.constant(), &wanted = *a.default_value;
    if (given.is_none() || wanted.is_none()) return given.is_none() && wanted.is_none();
    return !given.is_tensor() && given.data().index() == wanted.data().index() && given == wanted;
  }
  void op(const Node& n, const LiteName& name, const Schema& schema, bool writes_result) {
    const std::vector<const Value*> all = inputs(n);
    const auto short_code = std::find_if(std::begin(kShortCodes), std::end(kShortCodes), [&](const ShortCode& c) {
      return name.name == c.op && c.inputs == static_cast<int>(all.size()) && name.overload.empty();
    });
    if (options_.has_short_instructions && short_code != std::end(kShortCodes)) {
      load(n, all);
      add(short_code->name, 0, 0);
      return results_of(n, schema);
    }
    size_t results = 0;  // arguments at the end that are written
    if (writes_result)
      while (results < all.size() && schema.arguments[all.size() - 1 - results].writes) results++;
    size_t given = all.size() - results;
    const bool shortens = !options_.gives_all_arguments && (results == 0 || options_.shortens_before_results);
    if (shortens)
      while (given > 0 && given <= schema.arguments.size() && is_default(schema.arguments[given - 1], *source_of(all[given - 1]))) given--;
    std::vector<const Value*> values(all.begin(), all.begin() + static_cast<ptrdiff_t>(given));
    values.insert(values.end(), all.end() - static_cast<ptrdiff_t>(results), all.end());
    load(n, values);
    // Defaults are constants, which no register holds.
    call_operator({name.name, name.overload, options_.gives_all_arguments ? -1 : static_cast<int64_t>(values.size())});
    results_of(n, schema);
  }
  void results_of(const Node& n, const Schema& schema) {
    if (n.kind() == NodeKind::Builtin && schema.returns.empty()) {
      if (last_use(*n.output())) {
        load_constant(Datum(), TypeKind::None);
        store(outputs(n));
      }
      return;
    }
    if (n.kind() == NodeKind::Builtin && gives_values(schema)) add(Code::TupleConstruct, static_cast<int64_t>(schema.returns[0].elements().size()));
    store(outputs(n));
  }
  static const Schema* find_schema(const Node& n) {
    for (const Candidate& c : find_candidates(base_name(n)))
      if (c.op == n.op()) return &c.schema;
    CRESSET_CHECK(false, "lite interpreter: there is no operator ", n.op_name());
  }

  static int64_t slot(const Node& n) {
    ClassType* const cls = class_of(n.input(0)->type());
    const int found = cls ? cls->slot_of(constant_text(n.input(1))) : -1;
    CRESSET_CHECK(found >= 0, "lite interpreter: there is no attribute ", constant_text(n.input(1)));
    return found;
  }
  [[noreturn]] static void refuse(const char* what) { CRESSET_CHECK(false, what, " is not supported in mobile module."); }

  void builtin(const Node& n) {
    const std::string& b = n.builtin()->name;
    const std::vector<const Value*> values = inputs(n);
    const auto count = static_cast<int64_t>(values.size());
    if (b == "prim::fork" || b == "prim::awaitable" || b == "prim::future") refuse("FORK");
    if (b == "prim::Enter" || b == "prim::Exit") refuse("ENTER");
    if (b == "prim::CreateObject") refuse("CREATE_OBJECT");
    if (b == "prim::CallNative") refuse("A function of Python");
    if (b == "prim::EnumName" || b == "prim::EnumValue" || b == "prim::ModuleContainerIndex") refuse(b.c_str());
    if (b == "prim::GetAttr") {
      load(n, values);
      add(Code::GetAttr, slot(n));
      return store(outputs(n));
    }
    if (b == "prim::SetAttr") {
      load(n, values);
      add(Code::SetAttr, slot(n));
      return;
    }
    if (b == "prim::isinstance") {
      load(n, values);
      const auto first = static_cast<int64_t>(f_.types.size());
      for (size_t i = 1; i < n.inputs().size(); i++) f_.types.push_back(type_text(type_of_text(constant_text(n.input(i)), nullptr)));
      add(Code::IsInstance, first, static_cast<int64_t>(n.inputs().size()) - 1);
      return store(outputs(n));
    }
    if (b == "prim::CallMethod") {
      if (!options_.calls_interfaces) refuse("INTERFACE_CALL");
      const std::string method = constant_text(n.input(1));
      interface_calls_.emplace_back(class_of(n.input(0)->type()), method);
      load(n, values);
      load_constant(Datum(method), TypeKind::String);
      const int64_t number = f_.instructions.back().x;
      f_.instructions.pop_back();
      add(Code::InterfaceCall, number, count);
      return store(outputs(n));
    }
    if (b == "prim::Print") {
      load(n, values);
      return call_operator({b, "", -1}, count);
    }
    if (b == "aten::percentFormat") {
      load(n, values);
      call_operator({b, "", -1}, count);
      return store(outputs(n));
    }
    if (b == "aten::format") {
      load(n, values);
      if (options_.has_short_instructions) add("FORMAT", count, 0);
      else call_operator({b, "", -1}, count);
      return store(outputs(n));
    }
    if (b == "prim::RaiseException") {
      load(n, values);
      if (count == 1) load_constant(Datum(), TypeKind::None);
      if (options_.has_short_instructions) add("RAISE_EXCEPTION", 0, 0);
      else call_operator({b, "", options_.gives_all_arguments ? -1 : 2});
      return;
    }
    const Schema* schema = schema_of(*n.builtin());
    static const Schema kNone = [] {
      Schema s;
      s.returns.emplace_back();
      return s;
    }();
    op(n, operator_of(n), schema ? *schema : kNone, false);
  }

  WrittenFunction& f_;
  const LiteOptions& options_;
  std::unordered_map<const Node*, std::pair<size_t, const Block*>> places_;
  std::unordered_map<const Block*, const Node*> owners_;
  std::unordered_map<const Value*, const Node*> last_;
  std::unordered_map<const Value*, int64_t> register_;
  std::vector<std::pair<const ClassType*, std::string>> interface_calls_;
};

// The bytecode of the methods of a module, and of those of its submodules that are called by interfaces.
class ModuleBytecode {
 public:
  ModuleBytecode(const Datum& module, const LiteOptions& options) : options_(options) {
    ClassType& cls = *object_of(module)->cls;
    find_classes(module);
    for (const std::string& m : cls.method_order)
      if (m != kCallWithHooks) add(*cls.methods.at(m));
    for (size_t i = 0; i < calls_.size(); i++) {
      const auto [interface, method] = calls_[i];
      for (ClassType* c : classes_)
        if (interface && implements(*c, const_cast<ClassType&>(*interface))) add(*c->method(method));
    }
  }

  void write(io::Pickler& p, const std::function<void(const Datum&, const Type&)>& value) const {
    p.mark();
    p.integer(kLiteVersion);
    for (const WrittenFunction& f : functions_) {
      p.mark();
      p.text(f.name);
      body(p, f, value);
      schema(p, *f.schema, value);
      p.op('t');
    }
    p.op('t');
  }

 private:
  void find_classes(const Datum& v) {
    ScriptObject* const o = object_of(v);
    if (!o || !seen_.insert(o).second) return;
    if (o->cls->kind == ClassKind::Module && std::find(classes_.begin(), classes_.end(), o->cls) == classes_.end()) classes_.push_back(o->cls);
    for (const Datum& slot : o->slots()) find_classes(slot);
  }
  void add(Function& f) {
    if (!added_.insert(&f).second) return;
    CRESSET_CHECK(!f.native, "lite interpreter: '", short_name(f.name), "', a Python function, cannot be written");
    WrittenFunction& made = functions_.emplace_back();
    made.name = f.name;
    const Graph& g = f.inlined();
    made.schema = &f.schema;
    Emitter emitter(made, options_);
    emitter.function(g);
    calls_.insert(calls_.end(), emitter.interface_calls().begin(), emitter.interface_calls().end());
  }
  static void row(io::Pickler& p, const char* name, const std::function<void()>& value) {
    p.text(name);
    value();
    p.op('\x86');
  }
  template <class List, class Put> static void table(io::Pickler& p, const char* name, const List& list, Put put) {
    row(p, name, [&] {
      p.mark();
      for (const auto& e : list) put(e);
      p.op('t');
    });
  }
  static void body(io::Pickler& p, const WrittenFunction& f, const std::function<void(const Datum&, const Type&)>& value) {
    p.mark();
    table(p, "instructions", f.instructions, [&](const WrittenInstruction& i) {
      p.mark();
      p.text(i.name);
      p.integer(i.x);
      p.integer(i.n);
      p.op('t');
    });
    table(p, "operators", f.operators, [&](const WrittenOperator& op) {
      p.mark();
      p.text(op.name);
      p.text(op.overload);
      if (op.given >= 0) p.integer(op.given);
      p.op('t');
    });
    table(p, "constants", f.constants, [&](const std::pair<Datum, Type>& c) { value(c.first, c.second); });
    table(p, "types", f.types, [&](const std::string& t) { p.text(t); });
    row(p, "register_size", [&] { p.integer(f.registers); });
    p.op('t');
  }
  static void schema(io::Pickler& p, const Schema& s, const std::function<void(const Datum&, const Type&)>& value) {
    const auto argument = [&](const std::string& name, const Type& type, const Datum& otherwise) {
      p.mark();
      row(p, "name", [&] { p.text(name); });
      row(p, "type", [&] { p.text(annotation_text(type)); });
      row(p, "default_value", [&] { value(otherwise, type); });
      p.op('t');
    };
    p.mark();
    table(p, "arguments", s.arguments, [&](const SchemaArgument& a) { argument(a.name, a.type, a.default_value ? *a.default_value : Datum()); });
    table(p, "returns", s.returns, [&](const Type& t) { argument("", t, Datum()); });
    p.op('t');
  }

  const LiteOptions& options_;
  std::list<WrittenFunction> functions_;
  std::vector<ClassType*> classes_;
  std::set<const ScriptObject*> seen_;
  std::set<const Function*> added_;
  std::vector<std::pair<const ClassType*, std::string>> calls_;
};

}  // namespace

void write_lite(const Datum& module, const std::map<std::string, std::string>& extra, ArchiveParts& parts, const LiteOptions& options) {
  const ScriptObject* root = object_of(module);
  CRESSET_CHECK(root && root->cls->kind == ClassKind::Module, "lite interpreter: expected a module of TorchScript");
  const ModuleBytecode bytecode(module, options);
  parts.whole(module, extra, [&](StorageTable& storages) {
    parts.pickle("bytecode.pkl", storages, [&](io::Pickler& p, const std::function<void(const Datum&, const Type&)>& value) { bytecode.write(p, value); });
  });
}

void save_lite(const Datum& module, const std::map<std::string, std::string>& extra, const std::string& folder, const io::WriteBytes& write,
               const LiteOptions& options) {
  io::ZipWriter zip(write, folder);
  ArchiveParts parts([&](const std::string& name, std::string_view bytes) { zip.add(name, bytes); });
  write_lite(module, extra, parts, options);
  zip.add("version", parts.version());
  zip.finish();
}

}  // namespace cresset::graph::script
