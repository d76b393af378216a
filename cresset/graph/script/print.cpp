#include "cresset/graph/script/print.h"
#include "cresset/graph/script/dtype_number.h"

#include <algorithm>
#include <cmath>

#include "cresset/graph/script/source_map.h"
#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/upgrade.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

std::string constant_text(const Value* v) {
  CRESSET_CHECK(v->is_constant(), "code of a graph: expected a name that is constant, got a value of type ", annotation_text(v->type()));
  return v->constant()->to_string();
}

size_t Referred::constant(const Datum& v) {
  for (size_t i = 0; i < constants.size(); i++)
    if (constants[i].is(v)) return i;
  constants.push_back(v);
  return constants.size() - 1;
}
void Referred::add(const Type& t) {
  if (ClassType* cls = class_of(t)) return add(cls);
  if (t.kind() == TypeKind::Tuple && !t.name().empty() && std::find(named_tuples.begin(), named_tuples.end(), t.name()) == named_tuples.end())
    named_tuples.push_back(t.name());
  switch (t.kind()) {
    case TypeKind::List:
    case TypeKind::Optional:
    case TypeKind::Tuple:
    case TypeKind::Dict:
    case TypeKind::Union:
    case TypeKind::Future:
      for (const Type& e : t.elements()) add(e);
      break;
    default: break;
  }
}
void Referred::add(ClassType* cls) {
  if (cls->custom) return;
  if (std::find(classes.begin(), classes.end(), cls) == classes.end()) classes.push_back(cls);
}
void Referred::add(Function* f) {
  if (std::find(functions.begin(), functions.end(), f) == functions.end()) functions.push_back(f);
}

std::string base_name(const Node& n) {
  std::string s = n.kind() == NodeKind::Op ? n.op()->name : n.builtin()->name;
  if (s.find("::") == std::string::npos) s = "aten::" + s;
  if (s.compare(0, 9, "cresset::") == 0) s = "aten::" + s.substr(9);
  const size_t dot = s.find('.', s.find("::"));
  return s.substr(0, dot);
}

namespace {

// Of an operator that resizes in any number of dimensions; 0: the number is not known.
size_t resized_dimensions(const Node& n) {
  for (const Value* v : n.inputs()) {
    if (v->node() && v->node()->kind() == NodeKind::List) return v->node()->inputs().size();
    if (!v->is_constant()) continue;
    if (v->constant()->isIntList()) return v->constant()->toIntVector().size();
    if (v->constant()->isDoubleList()) return v->constant()->toDoubleVector().size();
  }
  return 0;
}

}  // namespace

std::optional<ResizeForm> resize_form(const Node& n) {
  const std::string full = base_name(n);
  if (full.compare(0, 6, "aten::") != 0) return std::nullopt;
  const std::string op = full.substr(6);
  if (op != "upsample_nearest" && op != "upsample_nearest_exact" && op != "upsample_linear" && op != "upsample_bicubic") return std::nullopt;
  const size_t d = resized_dimensions(n);
  CRESSET_CHECK(d >= 1 && d <= 3, "save: ", op, " to a size whose length is not known cannot be written");
  const std::string number = std::to_string(d) + "d";
  if (op == "upsample_nearest") return ResizeForm{"upsample_nearest" + number, n.inputs().size()};
  if (op == "upsample_nearest_exact") return ResizeForm{"_upsample_nearest_exact" + number, n.inputs().size()};
  static const char* const kLinear[] = {"linear1d", "bilinear2d", "trilinear3d"};
  const std::string name = op == "upsample_bicubic" ? "bicubic2d" : kLinear[d - 1];
  const Value& smooth = *n.input(4);
  const bool antialias = smooth.is_constant() && smooth.constant()->isBool() && smooth.constant()->toBool();
  return ResizeForm{std::string(antialias ? "_" : "") + "upsample_" + name + (antialias ? "_aa" : ""), 4};
}

namespace {

bool is_identifier(const std::string& s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  return std::all_of(s.begin(), s.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}
// `or`, `in` and the like name no variables.
bool is_reserved(const std::string& s) {
  static const std::set<std::string> kWords = {"False",          "None",     "True",     "and",    "as",       "assert",     "async",   "await",
                                               "break",          "class",    "continue", "def",    "del",      "elif",       "else",    "except",
                                               "finally",        "for",      "from",     "global", "if",       "import",     "in",      "is",
                                               "lambda",         "nonlocal", "not",      "or",     "pass",     "raise",      "return",  "try",
                                               "while",          "with",     "yield",    "torch",  "ops",      "CONSTANTS",  "fork",    "awaitable",
                                               "annotate",       "inf",      "nan",      "int",    "float",    "bool",       "str",     "list",
                                               "dict",           "tuple",    "print",    "len",    "range",    "isinstance", "getattr", "uninitialized",
                                               "unchecked_cast", "Tensor",   "List",     "Dict",   "Optional", "Tuple",      "self",    "zip",
                                               "enumerate",      "max",      "min",      "abs",    "device"};
  return kWords.count(s) != 0;
}

class Printer {
 public:
  Printer(Referred& referred, bool to_save, Places* places = nullptr) : referred_(referred), to_save_(to_save), places_(places) {}

  std::string function(Function& f, const std::string& indent) {
    f.ensure_defined();
    const Graph& g = *f.graph;
    const auto& parameters = g.block().parameters();
    for (size_t i = 0; i < parameters.size(); i++) {
      const std::string& wanted = f.schema.arguments[i].name;
      names_[parameters[i].get()] = wanted;
      used_.insert(wanted);
    }
    out_ = indent + "def " + short_name(f.name) + "(";
    for (size_t i = 0; i < parameters.size(); i++) {
      const SchemaArgument& a = f.schema.arguments[i];
      out_ += (i ? ",\n" + indent + "    " : "") + a.name;
      if (i > 0 || !f.cls) out_ += ": " + type(a.type);
      if (a.default_value) out_ += "=" + literal(*a.default_value, a.type);
    }
    out_ += ") -> " + type(f.schema.returns.empty() ? Type(TypeKind::None) : f.schema.returns[0]) + ":\n";
    indent_ = indent + "  ";
    block(g.block());
    line("return " + operand(g.block().results()[0]));
    return std::move(out_);
  }

  std::string type(const Type& t) {
    referred_.add(t);
    return annotation_text(t);
  }
  std::string literal(const Datum& v, const Type& t) {
    if (v.isDouble()) {
      const double d = v.toDouble();
      if (std::isnan(d)) return "nan";
      if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
    }
    if (v.isString()) {
      // Bytes beyond ASCII are escaped.
      std::string s;
      for (const char c : literal_of(v)) {
        if (static_cast<unsigned char>(c) < 0x80) s += c;
        else {
          char text[8];
          snprintf(text, sizeof text, "\\%03o", static_cast<unsigned char>(c));
          s += text;
        }
      }
      return s;
    }
    if (v.is<ScalarType>()) return std::to_string(number_of(v.to_dtype()));
    if (v.is<Layout>()) return std::to_string(number_of(v.to_layout()));
    if (v.is<MemoryFormat>()) return std::to_string(static_cast<int>(v.to_memory_format()));
    if (v.is<Device>()) return "torch.device(\"" + v.to_device().str() + "\")";
    if (v.is_tensor() && v.to_tensor().defined()) return "CONSTANTS.c" + std::to_string(referred_.constant(v));
    if (v.is_tensor()) return "None";
    if (v.isTuple()) {
      std::string s = "(";
      const auto& e = v.toTupleRef().elements();
      for (size_t i = 0; i < e.size(); i++) s += literal(e[i], {}) + (i + 1 < e.size() ? ", " : e.size() == 1 ? "," : "");
      return s + ")";
    }
    if (v.isList()) {
      std::string s = "[";
      for (const Datum& e : v.toListVector()) s += (s.size() > 1 ? ", " : "") + literal(e, {});
      s += "]";
      return s == "[]" && t.kind() == TypeKind::List ? "annotate(" + type(t) + ", [])" : s;
    }
    if (v.object()) {
      if (const auto* e = dynamic_cast<const EnumObject*>(v.object()->get())) {
        referred_.add(e->cls);
        return e->cls->name + "." + e->name();
      }
      return "CONSTANTS.c" + std::to_string(referred_.constant(v));
    }
    return literal_of(v);
  }

 private:
  void line(const std::string& s) { out_ += indent_ + s + "\n"; }
  std::string fresh(const std::string& wanted) {
    std::string base = is_identifier(wanted) && !is_reserved(wanted) && wanted[0] != '_' ? wanted : "";
    if (!base.empty() && used_.insert(base).second) return base;
    while (true) {
      std::string s = (base.empty() ? "_" : base) + std::to_string(next_++);
      if (used_.insert(s).second) return s;
    }
  }
  const std::string& name(const Value* v) {
    const auto found = names_.find(v);
    if (found != names_.end()) return found->second;
    return names_[v] = fresh(v->name());
  }
  std::string operand(const Value* v) {
    if (v->is_constant()) return literal(*v->constant(), v->type());
    return name(v);
  }
  std::string operands(const Node& n, size_t from = 0) {
    std::string s;
    for (size_t i = from; i < n.inputs().size(); i++) s += (i > from ? ", " : "") + operand(n.input(i));
    return s;
  }

  static bool is_builtin(const Node& n, std::string_view name) { return n.kind() == NodeKind::Builtin && n.builtin()->name == name; }
  static bool is_call_of(const Node& n, std::string_view method) { return n.kind() == NodeKind::Call && short_name(n.target()) == method; }
  void block(const Block& b) {
    std::vector<size_t> entered;  // where the with statements begin that the text is in
    const auto& nodes = b.nodes();
    for (auto at = nodes.begin(); at != nodes.end() && (*at)->kind() != NodeKind::Return; ++at) {
      const Node& n = **at;
      const auto next = std::next(at);
      if (is_call_of(n, "__enter__") && next != nodes.end() && is_builtin(**next, "prim::Enter")) {
        note_place(n);
        const bool named = !n.output()->uses().empty() && n.output()->type().kind() != TypeKind::None;
        line("with " + operand(n.input(0)) + (named ? " as " + name(n.output()) : "") + ":");
        indent_ += "  ";
        entered.push_back(out_.size());
        at = next;
      } else if (!entered.empty() && is_builtin(n, "prim::Exit") && next != nodes.end() && is_call_of(**next, "__exit__")) {
        if (out_.size() == entered.back()) line("pass");
        entered.pop_back();
        indent_.resize(indent_.size() - 2);
        at = next;
      } else if (!is_builtin(n, "prim::Enter") && !is_builtin(n, "prim::Exit")) {
        node(n);
      }
    }
  }
  void give(const Node& n, const std::string& expression) {
    if (n.outputs().empty()) return line(expression);
    std::string s;
    for (const auto& o : n.outputs()) s += (s.empty() ? "" : ", ") + name(o.get());
    line(s + (n.kind() == NodeKind::Unpack && n.outputs().size() == 1 ? ", = " : " = ") + expression);
  }

  void note_place(const Node& n) {
    if (!places_) return;
    const Range* origin = n.location() && n.location()->detail ? origin_of(*static_cast<const Range*>(n.location()->detail.get())) : nullptr;
    places_->push_back({out_.size(), origin ? *origin : Range()});
  }
  void node(const Node& n) {
    note_place(n);
    switch (n.kind()) {
      case NodeKind::If: return branches(n);
      case NodeKind::Loop: return loop(n);
      case NodeKind::List: {
        const std::string inside = "[" + operands(n) + "]";
        const Type& t = n.output()->type();
        const bool plain = !n.inputs().empty() && n.input(0)->type() == t.elements()[0] &&
                           std::all_of(n.inputs().begin(), n.inputs().end(), [&](const Value* v) { return v->type() == n.input(0)->type(); });
        return give(n, plain ? inside : "annotate(" + type(t) + ", " + inside + ")");
      }
      case NodeKind::Dict: {
        std::string s = "{";
        for (size_t i = 0; i < n.inputs().size(); i += 2) s += (i ? ", " : "") + operand(n.input(i)) + ": " + operand(n.input(i + 1));
        return give(n, "annotate(" + type(n.output()->type()) + ", " + s + "})");
      }
      case NodeKind::Tuple: {
        const Type& t = n.output()->type();
        // The names of results of operators are not part of the text.
        if (!t.name().empty()) return give(n, type(t) + "(" + operands(n) + ")");
        return give(n, "(" + operands(n) + (n.inputs().size() == 1 ? ",)" : ")"));
      }
      case NodeKind::Unpack: return give(n, operand(n.input(0)));
      case NodeKind::Call: return call(n);
      case NodeKind::Op:
        referred_.version = std::max(referred_.version, version_of_operator(base_name(n)));
        return give(n, operator_call(n, schema_of_op(*n.op())));
      case NodeKind::Builtin: return builtin(n);
      default: CRESSET_CHECK(false, "a node of an unknown operator cannot be written: ", n.op_name());
    }
  }
  static bool is_hook(const Function& f) {
    const std::string name = short_name(f.name);
    const auto has = [&](const std::vector<std::string>& list) { return std::find(list.begin(), list.end(), name) != list.end(); };
    return has(f.cls->pre_hooks) || has(f.cls->hooks);
  }
  void call(const Node& n) {
    Function* f = find_function(n.target());
    CRESSET_CHECK(f, "there is no function ", n.target());
    if (f->cls && f->cls->methods.count(short_name(f->name)) && !n.inputs().empty() && class_of(n.input(0)->type()) == f->cls) {
      // PyTorch finds hooks by the class alone.
      if (is_hook(*f)) return give(n, f->cls->name + "." + short_name(f->name) + "(" + operands(n) + ")");
      return give(n, "(" + operand(n.input(0)) + ")." + short_name(f->name) + "(" + operands(n, 1) + ")");
    }
    if (const std::string op = library_operator(f->name); !op.empty()) return give(n, "torch." + op + "(" + operands(n) + ")");
    referred_.add(f);
    give(n, f->name + "(" + operands(n) + ")");
  }

  static const Schema& schema_of_op(const dispatch::OpEntry& op) {
    static std::mutex mutex;
    static auto* const cache = new std::map<const dispatch::OpEntry*, Schema>;
    const std::lock_guard lock(mutex);
    const auto found = cache->find(&op);
    if (found != cache->end()) return found->second;
    const dispatch::FunctionSchema& from = op.function_schema();
    Schema s;
    for (const dispatch::Argument& a : from.arguments) {
      SchemaArgument to;
      to.name = a.name;
      to.type = Type::of_schema(a.type);
      to.keyword_only = a.keyword_only;
      if (a.has_default) to.default_value = a.default_value;
      s.arguments.push_back(std::move(to));
    }
    return (*cache)[&op] = std::move(s);
  }
  std::string operator_call(const Node& n, const Schema& s) {
    const std::string full = base_name(n);
    const std::string ns = full.substr(0, full.find("::")), op = full.substr(full.find("::") + 2);
    if (const auto form = to_save_ ? resize_form(n) : std::nullopt) {
      std::string inputs;
      for (size_t i = 0; i < form->arguments; i++) inputs += (i ? ", " : "") + operand(n.input(i));
      return "torch." + form->name + "(" + inputs + ")";
    }
    static const std::set<std::string> kKeywords = {"and", "or", "not", "is", "in", "lambda", "del", "print"};
    std::string out = ns == "aten" && !kKeywords.count(op) ? "torch." + op : "ops." + ns + "." + op;
    out += "(";
    size_t count = n.inputs().size();
    // Defaults at the end go without saying, and those of keywords anywhere.
    const auto is_default = [&](size_t i) {
      const SchemaArgument& a = s.arguments[i];
      if (!a.default_value || !n.input(i)->is_constant()) return false;
      const Datum& v = *n.input(i)->constant();
      return (v.is_none() && a.default_value->is_none()) ||
             (!v.is_none() && !a.default_value->is_none() && !v.is_tensor() && v.data().index() == a.default_value->data().index() && v == *a.default_value);
    };
    size_t last = count;
    while (last > 0 && is_default(last - 1)) last--;
    std::string parts;
    for (size_t i = 0; i < last; i++) {
      const SchemaArgument& a = s.arguments[i];
      if (a.keyword_only && is_default(i)) continue;
      parts += (parts.empty() ? "" : ", ") + (a.keyword_only ? a.name + "=" : std::string()) + operand(n.input(i));
    }
    return out + parts + ")";
  }

  void builtin(const Node& n) {
    const std::string& b = n.builtin()->name;
    if (b == "prim::GetAttr") {
      const std::string attribute = constant_text(n.input(1));
      if (is_identifier(attribute) && !is_reserved(attribute)) return give(n, operand(n.input(0)) + "." + attribute);
      return give(n, "getattr(" + operand(n.input(0)) + ", " + literal(Datum(attribute), {}) + ")");
    }
    if (b == "prim::ModuleContainerIndex")
      return line(name(n.output()) + " : " + type(n.output()->type()) + " = " + operand(n.input(0)) + "[" + operand(n.input(1)) + "]");
    if (b == "prim::SetAttr") return line(operand(n.input(0)) + "." + constant_text(n.input(1)) + " = " + operand(n.input(2)));
    if (b == "prim::CreateObject") {
      ClassType* cls = find_class(constant_text(n.input(0)));
      if (cls) referred_.add(cls);
      return give(n, constant_text(n.input(0)) + ".__new__(" + constant_text(n.input(0)) + ")");
    }
    if (b == "prim::CallMethod") return give(n, "(" + operand(n.input(0)) + ")." + constant_text(n.input(1)) + "(" + operands(n, 2) + ")");
    if (b == "prim::CallNative") {
      Function* f = find_function(constant_text(n.input(0)));
      if (f && f->cls && f->cls->custom) {
        if (f == f->cls->constructor) return give(n, f->cls->name + "(" + operands(n, 1) + ")");
        if (f->cls->statics.count(short_name(f->name))) return give(n, f->name + "(" + operands(n, 1) + ")");
        return give(n, "(" + operand(n.input(1)) + ")." + short_name(f->name) + "(" + operands(n, 2) + ")");
      }
      if (const std::string op = foreign_operator_name(constant_text(n.input(0))); !op.empty()) {
        const size_t colons = op.find("::");
        return give(n, "ops." + op.substr(0, colons) + "." + op.substr(colons + 2) + "(" + operands(n, 1) + ")");
      }
      CRESSET_CHECK(!to_save_, "save: '", short_name(constant_text(n.input(0))),
                    "', a Python function, cannot be saved: compile it, or mark it with torch.jit.unused");
      if (f && f->cls && !n.inputs().empty() && n.inputs().size() > 1 && f->cls->methods.count(short_name(f->name)))
        return give(n, "^" + short_name(f->name) + "()(" + operands(n, 2) + ")");
      return give(n, "^" + short_name(constant_text(n.input(0))) + "()(" + operands(n, 1) + ")");
    }
    if (b == "prim::RaiseException") return line("ops.prim.RaiseException(" + operands(n) + ")");
    if (b == "prim::Uninitialized") return give(n, "uninitialized(" + type(n.output()->type()) + ")");
    if (b == "prim::unchecked_cast") {
      const bool wider = is_subtype(n.input(0)->type(), n.output()->type());
      if (wider && is_named_apart(n.output()->type())) return line(name(n.output()) + " : " + type(n.output()->type()) + " = " + operand(n.input(0)));
      return give(n, (wider ? "annotate(" : "unchecked_cast(") + type(n.output()->type()) + ", " + operand(n.input(0)) + ")");
    }
    if (b == "prim::dtype_of_int") return give(n, operand(n.input(0)));
    if (b == "prim::isinstance") {
      std::string types;
      for (size_t i = 1; i < n.inputs().size(); i++) {
        const std::string t = constant_text(n.input(i));
        referred_.add(type_of_text(t == "tuple" || t == "list" || t == "dict" ? "Any" : t, nullptr));
        types += (i > 1 ? ", " : "") + t;
      }
      return give(n, "isinstance(" + operand(n.input(0)) + ", " + (n.inputs().size() > 2 ? "(" + types + ")" : types) + ")");
    }
    if (b == "prim::fork" || b == "prim::awaitable") {
      Function* f = find_function(constant_text(n.input(0)));
      CRESSET_CHECK(f, "there is no function ", constant_text(n.input(0)));
      const bool is_method = f->cls && n.inputs().size() > 1 && class_of(n.input(1)->type()) == f->cls;
      if (!is_method) referred_.add(f);
      const std::string closure = fresh("forked_function");
      line("def " + closure + "():");
      line("  return " +
           (is_method ? "(" + operand(n.input(1)) + ")." + short_name(f->name) + "(" + operands(n, 2) + ")" : f->name + "(" + operands(n, 1) + ")"));
      return give(n, std::string(b == "prim::fork" ? "fork" : "awaitable") + "(" + closure + ")");
    }
    if (b == "prim::future") {
      const std::string closure = fresh("forked_function");
      line("def " + closure + "():");
      line("  return " + operand(n.input(0)));
      return give(n, "fork(" + closure + ")");
    }
    if (b == "prim::EnumName") return give(n, operand(n.input(0)) + ".name");
    if (b == "prim::EnumValue") return give(n, operand(n.input(0)) + ".value");
    if (b == "prim::Print") return line("print(" + operands(n) + ")");
    if (b == "prim::TupleIndex") return give(n, "(" + operand(n.input(0)) + ")[" + operand(n.input(1)) + "]");
    if (b == "prim::tolist") return give(n, "annotate(" + type(n.output()->type()) + ", (" + operand(n.input(0)) + ").tolist())");
    if (b == "prim::data") return give(n, operand(n.input(0)) + ".data");
    const std::string full = base_name(n);
    if (full == "aten::Bool" || full == "aten::Int" || full == "aten::Float")
      return give(n, std::string(full == "aten::Bool" ? "bool" : full == "aten::Int" ? "int" : "float") + "(" + operand(n.input(0)) + ")");
    if (full == "aten::IntImplicit" || full == "aten::FloatImplicit")
      return give(n, std::string(full == "aten::IntImplicit" ? "int" : "float") + "(" + operand(n.input(0)) + ")");
    if (full == "aten::item") return give(n, "torch.item(" + operand(n.input(0)) + ")");
    const Schema* s = schema_of(*n.builtin());
    std::string expression;
    if (s) {
      expression = operator_call(n, *s);
    } else {
      const std::string ns = full.substr(0, full.find("::")), op = full.substr(full.find("::") + 2);
      expression = (ns == "aten" ? "torch." : "ops." + ns + ".") + op + "(" + operands(n) + ")";
    }
    const bool is_void = s && s->returns.empty();
    if (is_void && n.output()->uses().empty()) return line(expression);
    give(n, expression);
  }

  std::string joined(const std::vector<std::string>& list) {
    std::string s;
    for (const std::string& e : list) s += (s.empty() ? "" : ", ") + e;
    return s;
  }
  // In PyTorch `annotate` leaves these values the type that they had, and only a variable has the wider one.
  static bool is_named_apart(const Type& type) {
    const ClassType* const cls = class_of(type);
    return type.kind() == TypeKind::Union || (cls && cls->kind == ClassKind::Interface);
  }
  void assign_all(const std::vector<std::string>& targets, const std::vector<const Value*>& values, const std::vector<Type>& types, bool apart = false) {
    std::vector<std::string> left, right;
    for (size_t i = 0; i < targets.size(); i++) {
      std::string v = operand(values[i]);
      if (v == targets[i]) continue;
      if (values[i]->type() != types[i] && is_subtype(values[i]->type(), types[i])) {
        // Names that a branch gives out are read by none of its values, so that they can be annotated one by one.
        if (is_named_apart(types[i]) && apart) {
          line(targets[i] + " : " + type(types[i]) + " = " + v);
          continue;
        }
        v = (types[i].kind() == TypeKind::Any ? "unchecked_cast(" : "annotate(") + type(types[i]) + ", " + v + ")";
      }
      left.push_back(targets[i]);
      right.push_back(std::move(v));
    }
    if (left.size() == 1) line(left[0] + " = " + right[0]);
    else if (!left.empty()) line(joined(left) + " = " + joined(right));
  }

  void branches(const Node& n) {
    std::vector<std::string> targets;
    std::vector<Type> types;
    for (const auto& o : n.outputs()) {
      targets.push_back(name(o.get()));
      types.push_back(o->type());
    }
    line("if " + operand(n.input(0)) + ":");
    for (size_t i = 0; i < 2; i++) {
      if (i == 1) line("else:");
      const std::string before = indent_;
      indent_ += "  ";
      const size_t at = out_.size();
      block(*n.blocks()[i]);
      std::vector<const Value*> values(n.blocks()[i]->results().begin(), n.blocks()[i]->results().end());
      assign_all(targets, values, types, true);
      if (out_.size() == at) line("pass");
      indent_ = before;
    }
  }

  static bool is_true(const Value* v) { return v->is_constant() && v->constant()->isBool() && v->constant()->toBool(); }
  static bool is_endless(const Value* v) { return v->is_constant() && v->constant()->isInt() && v->constant()->toInt() == INT64_MAX; }
  void loop(const Node& n) {
    const Block& b = *n.blocks()[0];
    std::vector<std::string> targets;
    std::vector<const Value*> starts, next;
    std::vector<Type> types;
    for (size_t i = 0; i < n.outputs().size(); i++) {
      targets.push_back(name(b.parameter(i + 1)));
      types.push_back(b.parameter(i + 1)->type());
      starts.push_back(n.input(i + 2));
      next.push_back(b.results()[i + 1]);
    }
    assign_all(targets, starts, types);
    const bool counts = is_true(n.input(1)) && is_true(b.results()[0]), endless = is_endless(n.input(0));
    const std::string before = indent_;
    std::string go, trip;
    if (counts) {
      line("for " + name(b.parameter(0)) + " in range(" + operand(n.input(0)) + "):");
    } else {
      go = fresh("");
      if (endless) {
        line(go + " = " + operand(n.input(1)));
      } else {
        trip = name(b.parameter(0));
        line(trip + " = 0");
        line(go + " = torch.__and__(torch.gt(" + operand(n.input(0)) + ", 0), " + operand(n.input(1)) + ")");
      }
      line("while " + go + ":");
    }
    indent_ += "  ";
    const size_t at = out_.size();
    if (endless && !counts && !b.parameter(0)->uses().empty()) CRESSET_CHECK(false, "a loop without an end that counts cannot be written");
    block(b);
    if (counts) {
      assign_all(targets, next, types);
    } else {
      // The condition is read before variables change.
      std::string condition = operand(b.results()[0]);
      if (!endless) {
        const std::string more = fresh("");
        line(more + " = torch.add(" + trip + ", 1)");
        condition = "torch.__and__(torch.lt(" + more + ", " + operand(n.input(0)) + "), " + condition + ")";
        const std::string kept = fresh("");
        line(kept + " = " + condition);
        assign_all(targets, next, types);
        line(trip + " = " + more);
        line(go + " = " + kept);
      } else {
        const std::string kept = fresh("");
        line(kept + " = " + condition);
        assign_all(targets, next, types);
        line(go + " = " + kept);
      }
    }
    if (out_.size() == at) line("pass");
    indent_ = before;
    for (size_t i = 0; i < n.outputs().size(); i++) names_[n.output(i)] = targets[i];
  }

  Referred& referred_;
  bool to_save_;
  Places* places_;
  std::string out_, indent_;
  std::map<const Value*, std::string> names_;
  std::set<std::string> used_;
  size_t next_ = 0;
};

}  // namespace

std::string code_of(Function& f, Referred& referred, bool to_save, const std::string& indent) { return Printer(referred, to_save).function(f, indent); }

std::string code_of(Function& f, Referred& referred, bool to_save, Places& places) { return Printer(referred, to_save, &places).function(f, ""); }
std::string code_of(ClassType& cls, Referred& referred, bool to_save) {
  Places unused;
  return code_of(cls, referred, to_save, unused);
}

namespace {

// Whether a constant stands as text in its class: others are part of the methods alone.
bool is_plain_constant(const Datum& v) {
  const auto all = [](const auto& elements) { return std::all_of(elements.begin(), elements.end(), is_plain_constant); };
  if (v.isTuple()) return all(v.toTupleRef().elements());
  if (v.isList()) return all(v.toListVector());
  return v.is_none() || v.is_number() || v.isString() || v.is<Device>() || v.is<ScalarType>() || v.is<Layout>() || v.is<MemoryFormat>();
}

}  // namespace

std::string code_of(ClassType& cls, Referred& referred, bool to_save, Places& places) {
  Printer types(referred, to_save);
  const std::string name = short_name(cls.name);
  if (cls.kind == ClassKind::Enum) {
    std::string s = "class " + name + "(Enum):\n";
    for (const auto& [member, v] : cls.members) s += "  " + member + " = " + types.literal(v, {}) + "\n";
    return s;
  }
  if (cls.kind == ClassKind::Interface) {
    std::string s = "class " + name + "(" + (cls.is_module_interface ? "ModuleInterface" : "Interface") + "):\n";
    for (const Schema& m : cls.interface) {
      s += "  def " + short_name(m.name) + "(self";
      for (size_t i = 1; i < m.arguments.size(); i++) s += ",\n      " + m.arguments[i].name + ": " + types.type(m.arguments[i].type);
      s += ") -> " + types.type(m.returns.empty() ? Type(TypeKind::None) : m.returns[0]) + ":\n    pass\n";
    }
    return s;
  }
  std::string s = "class " + name + (cls.kind == ClassKind::Module ? "(Module)" : "") + ":\n";
  if (cls.kind == ClassKind::Module) {
    std::string parameters, buffers;
    for (const Attribute& a : cls.attributes) {
      if (a.is_parameter) parameters += types.literal(Datum(a.name), {}) + ", ";
      if (a.is_buffer) buffers += types.literal(Datum(a.name), {}) + ", ";
    }
    s += "  __parameters__ = [" + parameters + "]\n  __buffers__ = [" + buffers + "]\n";
    for (const auto& [what, hooks] : {std::pair("__forward_pre_hooks__", &cls.pre_hooks), std::pair("__forward_hooks__", &cls.hooks)}) {
      std::string names;
      for (const std::string& hook : *hooks) names += types.literal(Datum(hook), {}) + ", ";
      if (!names.empty()) s += std::string("  ") + what + " = [" + names + "]\n";
    }
  }
  // Names that are no identifiers stand among the others, as the order of attributes is that of submodules and parameters.
  const auto is_plain = [](const Attribute& a) { return is_identifier(a.name) && !is_reserved(a.name); };
  if (!std::all_of(cls.attributes.begin(), cls.attributes.end(), is_plain)) s += "  __annotations__ = []\n";
  for (const Attribute& a : cls.attributes) {
    const std::string type = types.type(a.type);
    s += "  " + (is_plain(a) ? a.name + " : " : "__annotations__[" + types.literal(Datum(a.name), {}) + "] = ") + type + "\n";
  }
  for (const auto& [constant, v] : cls.constants) {
    const Type t = Type::of(v);
    if (is_plain_constant(v)) s += "  " + constant + " : Final[" + types.type(t) + "] = " + types.literal(v, t) + "\n";
  }
  for (const std::string& m : cls.method_order) {
    Function* f = cls.methods.at(m);
    if (to_save && m == kCallWithHooks) continue;  // made again where the hooks are read
    if (f->native) {
      CRESSET_CHECK(!to_save || !f->is_ignored, "save: '", m, "', a Python function, cannot be saved: compile it, or mark it with torch.jit.unused");
      continue;
    }
    Places within;
    const std::string text = Printer(referred, to_save, &within).function(*f, "  ");
    for (Place& p : within) places.push_back({s.size() + p.at, std::move(p.range)});
    places.push_back({s.size() + text.size(), {}});
    s += text;
  }
  if (cls.attributes.empty() && cls.method_order.empty() && cls.kind != ClassKind::Module) s += "  pass\n";
  return s;
}

std::string code_of_named_tuple(const std::string& name) {
  const Type t = *named_tuple(name);
  std::string s = "class " + short_name(name) + "(NamedTuple):\n";
  for (size_t i = 0; i < t.elements().size(); i++) s += "  " + t.fields()[i] + " : " + annotation_text(t.elements()[i]) + "\n";
  return s;
}

}  // namespace cresset::graph::script
