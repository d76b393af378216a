// Names that every program knows, and types of annotations.

#include <algorithm>

#include "cresset/graph/script/sugar.h"
#include "cresset/graph/script/values.h"

namespace cresset::graph::script {

namespace {

SugarPtr special(const std::string& what) { return sugar_text(SugarKind::Special, what); }

const std::map<std::string, TypeKind>& plain_types() {
  static const std::map<std::string, TypeKind> kTypes = {{"Tensor", TypeKind::Tensor},
                                                         {"int", TypeKind::Int},
                                                         {"float", TypeKind::Float},
                                                         {"bool", TypeKind::Bool},
                                                         {"complex", TypeKind::Complex},
                                                         {"str", TypeKind::String},
                                                         {"Any", TypeKind::Any},
                                                         {"None", TypeKind::None},
                                                         {"NoneType", TypeKind::None},
                                                         {"number", TypeKind::Number},
                                                         {"Device", TypeKind::Device},
                                                         {"device", TypeKind::Device},
                                                         {"dtype", TypeKind::DType},
                                                         {"layout", TypeKind::Layout},
                                                         {"Generator", TypeKind::Generator},
                                                         {"memory_format", TypeKind::MemoryFormat},
                                                         {"Scalar", TypeKind::Number},
                                                         {"object", TypeKind::Any}};
  return kTypes;
}

// "torch.jit.Future" and "typing.List": the last part says it.
std::string dotted(const Ast& a) {
  if (a.kind == AstKind::Name) return a.text;
  if (a.kind == AstKind::Attribute) {
    const std::string before = dotted(a[0]);
    return before.empty() ? "" : before + "." + a.text;
  }
  return "";
}
bool is_known_home(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return true;
  const std::string home = name.substr(0, dot);
  return home == "torch" || home == "typing" || home == "torch.jit" || home == "t" || home == "torch._C" || home == "torch.futures" || home == "jit" ||
         home == "typing_extensions" || home == "torch.jit.annotations" || home == "collections.abc" || home == "__torch__";
}

// None: no type is made by that name.
std::optional<Type> generic(const std::string& name, const std::vector<Type>& of, const Ast& a) {
  const auto need = [&](size_t n) {
    if (of.size() != n) throw CompileError(str(name, ": expected ", n, " types in brackets, got ", of.size()), a.range);
  };
  if (name == "List" || name == "list" || name == "Sequence" || name == "BroadcastingList1" || name == "BroadcastingList2" || name == "BroadcastingList3") {
    need(1);
    return Type::list(of[0]);
  }
  if (name == "Dict" || name == "dict" || name == "OrderedDict") {
    need(2);
    const TypeKind k = of[0].kind();
    if (k != TypeKind::String && k != TypeKind::Int && k != TypeKind::Float && k != TypeKind::Bool && k != TypeKind::Complex && k != TypeKind::Tensor &&
        k != TypeKind::Device && k != TypeKind::Any && !is_variable(of[0]))
      throw CompileError("keys of dicts are str, int, float, complex, bool, Tensor or device, not '" + annotation_text(of[0]) + "'", a.range);
    return Type::dict(of[0], of[1]);
  }
  if (name == "Optional") {
    need(1);
    return Type::optional(of[0]);
  }
  if (name == "Tuple" || name == "tuple") return Type::tuple(of);
  if (name == "Union") {
    std::vector<Type> flat;
    for (const Type& t : of) {
      const std::vector<Type> parts = t.kind() == TypeKind::Union      ? t.elements()
                                      : t.kind() == TypeKind::Optional ? std::vector<Type>{t.elements()[0], TypeKind::None}
                                                                       : std::vector<Type>{t};
      for (const Type& p : parts)
        if (std::find(flat.begin(), flat.end(), p) == flat.end()) flat.push_back(p);
    }
    std::sort(flat.begin(), flat.end(), [](const Type& x, const Type& y) { return annotation_text(x) < annotation_text(y); });
    if (flat.size() == 1) return flat[0];
    if (flat.size() == 2 && (flat[0].kind() == TypeKind::None || flat[1].kind() == TypeKind::None))
      return Type::optional(flat[0].kind() == TypeKind::None ? flat[1] : flat[0]);
    return Type::union_of(std::move(flat));
  }
  if (name == "Future" || name == "Await" || name == "_Await") {
    need(1);
    return Type::future(of[0]);
  }
  if (name == "Final" || name == "Annotated" || name == "ClassVar") return of.at(0);
  return std::nullopt;
}

}  // namespace

Type type_of_annotation(const Ast& a, Resolver* resolver) {
  if (a.kind == AstKind::Literal) {
    if (a.value.is_none()) return TypeKind::None;
    if (a.value.isString()) return type_of_text(a.value.to_string(), resolver, a.range);
  }
  if (a.kind == AstKind::Binary && a.text == "|") {
    std::vector<Type> parts{type_of_annotation(a[0], resolver), type_of_annotation(a[1], resolver)};
    return *generic("Union", parts, a);
  }
  if (a.kind == AstKind::Tuple && a.kids.empty()) return Type::tuple({});
  if (a.kind == AstKind::Name || a.kind == AstKind::Attribute) {
    const std::string name = dotted(a), last = a.text;
    if (is_known_home(name)) {
      const auto found = plain_types().find(last);
      if (found != plain_types().end()) return found->second;
    }
    // A class of Python first: its name may be anything.
    if (resolver)
      if (const auto t = resolver->type(a.range.text(), a.range)) return *t;
    if (ClassType* cls = find_class(name)) return cls->type();
    if (const auto named = named_tuple(name)) return *named;
    if (last == "Tuple" || last == "tuple" || last == "List" || last == "list" || last == "Dict" || last == "dict" || last == "Optional")
      throw CompileError(last + ": say what it holds, as in " + (last == "Dict" || last == "dict" ? "Dict[str, int]" : last + "[int]"), a.range);
    throw CompileError("Unknown type name '" + name + "'", a.range);
  }
  if (a.kind == AstKind::Subscript) {
    const std::string name = dotted(a[0]);
    std::vector<Type> parts;
    for (size_t i = 1; i < a.kids.size(); i++) {
      if (a[i].kind == AstKind::Tuple && a[0].text != "Tuple" && a[0].text != "tuple")
        for (const AstPtr& k : a[i].kids) parts.push_back(type_of_annotation(*k, resolver));
      else if (a[i].kind == AstKind::Tuple && !a[i].kids.empty())
        for (const AstPtr& k : a[i].kids) parts.push_back(type_of_annotation(*k, resolver));
      else if (a[i].kind == AstKind::Tuple) return Type::tuple({});
      else parts.push_back(type_of_annotation(a[i], resolver));
    }
    if (!name.empty() && is_known_home(name))
      if (const auto t = generic(a[0].text, parts, a)) return *t;
    if (resolver)
      if (const auto t = resolver->type(a.range.text(), a.range)) return *t;
    throw CompileError("Unknown type constructor " + name, a.range);
  }
  throw CompileError("expected a type", a.range);
}

Type type_of_text(const std::string& text, Resolver* resolver, const Range& range) {
  auto source = std::make_shared<Source>();
  source->text = text;
  source->file = range.source ? range.source->file : "<annotation>";
  if (range.source) source->first_line = range.source->line_of(range.start);
  return type_of_annotation(*parse_expression(source), resolver);
}

SugarPtr builtin_name(const std::string& name) {
  static const std::set<std::string> kSpecial = {
      "range", "enumerate", "zip",   "len", "print", "isinstance", "hasattr", "getattr",  "int",     "float",    "bool",           "str",          "list",
      "tuple", "dict",      "slice", "abs", "min",   "max",        "sorted",  "sum",      "any",     "all",      "round",          "divmod",       "pow",
      "ord",   "chr",       "hex",   "oct", "bin",   "hash",       "super",   "reversed", "complex", "annotate", "unchecked_cast", "uninitialized"};
  if (kSpecial.count(name)) return special(name);
  if (name == "math") return math_namespace();
  static const std::set<std::string> kTypes = {"List", "Dict", "Optional", "Tuple", "Union", "Future", "Any", "Final", "Tensor"};
  if (kTypes.count(name)) return special(name);
  if (name == "inf") return sugar_constant(Datum(std::numeric_limits<double>::infinity()));
  if (name == "nan") return sugar_constant(Datum(std::numeric_limits<double>::quiet_NaN()));
  static const std::set<std::string> kExceptions = {
      "ArithmeticError",   "AssertionError",     "AttributeError",   "BaseException",       "BufferError",    "EOFError",
      "Exception",         "FloatingPointError", "ImportError",      "IndexError",          "IOError",        "KeyError",
      "KeyboardInterrupt", "LookupError",        "MemoryError",      "ModuleNotFoundError", "NameError",      "NotImplementedError",
      "OSError",           "OverflowError",      "PermissionError",  "RecursionError",      "ReferenceError", "RuntimeError",
      "StopIteration",     "SystemError",        "SystemExit",       "TimeoutError",        "TypeError",      "UnboundLocalError",
      "UnicodeError",      "ValueError",         "ZeroDivisionError"};
  if (kExceptions.count(name)) return sugar_text(SugarKind::Exception, name);
  if (ClassType* cls = find_class(name)) return sugar(cls);
  return nullptr;
}

SugarPtr math_namespace() {
  const SugarPtr s = sugar_text(SugarKind::Namespace, "math");
  s->attribute = [](const std::string& name, const Range&) -> SugarPtr {
    static const std::map<std::string, double> kNumbers = {{"pi", 3.14159265358979323846},
                                                           {"e", 2.71828182845904523536},
                                                           {"tau", 6.28318530717958647692},
                                                           {"inf", std::numeric_limits<double>::infinity()},
                                                           {"nan", std::numeric_limits<double>::quiet_NaN()}};
    if (const auto found = kNumbers.find(name); found != kNumbers.end()) return sugar_constant(Datum(found->second));
    // The function of floats; the operator of its name takes the remainder of a division to the floor.
    const std::string builtin = "aten::" + std::string(name == "remainder" ? "mathremainder" : name);
    if (find_candidates(builtin).empty()) return nullptr;
    return sugar_text(SugarKind::Builtin, builtin);
  };
  return s;
}

namespace {

SugarPtr torch_attribute(const std::string& home, const std::string& name) {
  static const std::map<std::string, ScalarType> kDtypes = {{"float32", kFloat},
                                                            {"float", kFloat},
                                                            {"float64", kDouble},
                                                            {"double", kDouble},
                                                            {"float16", kHalf},
                                                            {"half", kHalf},
                                                            {"bfloat16", kBFloat16},
                                                            {"int64", kLong},
                                                            {"long", kLong},
                                                            {"int32", kInt},
                                                            {"int", kInt},
                                                            {"int16", kShort},
                                                            {"short", kShort},
                                                            {"int8", kChar},
                                                            {"uint8", kByte},
                                                            {"bool", kBool},
                                                            {"complex32", kComplexHalf},
                                                            {"complex64", kComplexFloat},
                                                            {"cfloat", kComplexFloat},
                                                            {"complex128", kComplexDouble},
                                                            {"cdouble", kComplexDouble}};
  if (home == "torch") {
    if (const auto found = kDtypes.find(name); found != kDtypes.end()) return sugar_constant(Datum(found->second));
    if (name == "strided") return sugar_constant(Datum(Layout::Strided));
    if (name == "sparse_coo") return sugar_constant(Datum(kSparse));
    if (name == "contiguous_format") return sugar_constant(Datum(MemoryFormat::Contiguous));
    if (name == "preserve_format") return sugar_constant(Datum(MemoryFormat::Preserve));
    if (name == "channels_last") return sugar_constant(Datum(MemoryFormat::ChannelsLast));
    if (name == "inf" || name == "nan" || name == "pi" || name == "e") return math_namespace()->attribute(name, {});
    if (name == "no_grad" || name == "enable_grad" || name == "device") return special(name);
    if (name == "Tensor" || dtype_of_old_type(name)) return special(name);
  }
  if (home == "torch.jit") {
    static const std::set<std::string> kNames = {"annotate",   "isinstance",      "is_scripting",      "is_tracing", "fork", "wait",
                                                 "_awaitable", "_awaitable_wait", "_awaitable_nowait", "Future",     "Final"};
    if (kNames.count(name)) return special(name);
    if (name == "_fork") return special("fork");
    if (name == "_wait") return special("wait");
    if (name == "_unwrap_optional") return sugar_text(SugarKind::Builtin, "aten::_unwrap_optional");
  }
  if (home == "torch.autograd" && name == "grad") return special("autograd.grad");
  if (home == "torch.autograd" && name == "backward") return sugar_text(SugarKind::Builtin, "aten::backward");
  if (home == "torch" && name == "Size") return special("list");
  static const std::set<std::string> kInPlaceBits = {"__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"};
  if (home == "torch" && kInPlaceBits.count(name)) return sugar_text(SugarKind::Builtin, "aten::" + name);
  if (home == "torch" &&
      (name == "jit" || name == "nn" || name == "autograd" || name == "ops" || name == "_C" || name == "special" || name == "linalg" || name == "fft"))
    return nullptr;
  if (home == "torch" && find_candidates("aten::" + name).empty())
    if (Function* f = library_function(name)) return sugar(f);
  std::string op;
  if (home == "torch") op = name;
  else if (home == "torch.special" || home == "torch.linalg" || home == "torch.fft") op = home.substr(6) + "_" + name;
  else if (home == "torch._C._nn" || home == "torch.nn.functional" || home == "torch._C._special" || home == "torch._C._linalg") op = name;
  if (!op.empty()) {
    for (const std::string& candidate : {"aten::" + op, "prim::" + op})
      if (!find_candidates(candidate).empty() || find_builtin(candidate)) return sugar_text(SugarKind::Builtin, candidate);
  }
  return nullptr;
}

// Builtins that the language writes in forms of its own: their names of attributes, classes and functions are constants there, and their types are known.
bool has_a_form(const std::string& op) {
  static const std::set<std::string> kForms = {"GetAttr", "SetAttr",   "CreateObject",   "CallMethod", "CallNative", "ModuleContainerIndex", "isinstance",
                                               "fork",    "awaitable", "unchecked_cast", "Enter",      "Exit",       "Uninitialized"};
  return kForms.count(op) != 0;
}

SugarPtr torch_home(const std::string& home) {
  const SugarPtr s = sugar_text(SugarKind::Namespace, home);
  s->attribute = [home](const std::string& name, const Range&) -> SugarPtr {
    if (home == "ops" || home == "torch.ops") {
      const SugarPtr inner = sugar_text(SugarKind::Namespace, home + "." + name);
      const std::string ns = name;
      inner->attribute = [ns](const std::string& op, const Range&) -> SugarPtr {
        if (ns == "prim" && has_a_form(op)) return nullptr;
        if (ns == "prim" && op == "data") return sugar_text(SugarKind::Builtin, "prim::data");
        if (find_candidates(ns + "::" + op).empty() && !find_builtin(ns + "::" + op)) {
          if (Function* const written = ns == "aten" ? library_function(op) : nullptr) return sugar(written);
          Function* const foreign = foreign_operators() ? foreign_operators()(ns, op) : nullptr;
          return foreign ? sugar(foreign) : nullptr;
        }
        return sugar_text(SugarKind::Builtin, ns + "::" + op);
      };
      return inner;
    }
    if (home == "torch" && name == "classes") return torch_home("torch.classes");
    if (home == "torch.classes") return torch_home("torch.classes." + name);
    if (home.compare(0, 14, "torch.classes.") == 0) {
      ClassType* cls = find_class("__torch__." + home + "." + name);
      return cls ? sugar(cls) : nullptr;
    }
    if (SugarPtr found = torch_attribute(home, name)) return found;
    static const std::set<std::string> kHomes = {"torch.jit",    "torch.nn",  "torch.nn.functional", "torch.autograd",
                                                 "torch.ops",    "torch._C",  "torch._C._nn",        "torch.special",
                                                 "torch.linalg", "torch.fft", "torch._C._special",   "torch._C._linalg"};
    if (kHomes.count(home + "." + name)) return torch_home(home + "." + name);
    return nullptr;
  };
  return s;
}

struct NamedTuples {
  std::mutex mutex;
  std::map<std::string, std::pair<Type, std::map<std::string, Datum>>> rows;
};
NamedTuples& named_tuples() {
  static auto* const t = new NamedTuples;
  return *t;
}

}  // namespace

std::optional<ScalarType> dtype_of_old_type(const std::string& name) {
  static const std::map<std::string, ScalarType> kTypes = {
      {"BoolTensor", kBool}, {"ByteTensor", kByte}, {"CharTensor", kChar},         {"ShortTensor", kShort}, {"IntTensor", kInt},
      {"LongTensor", kLong}, {"HalfTensor", kHalf}, {"BFloat16Tensor", kBFloat16}, {"FloatTensor", kFloat}, {"DoubleTensor", kDouble}};
  const auto found = kTypes.find(name);
  return found == kTypes.end() ? std::nullopt : std::optional<ScalarType>(found->second);
}

SugarPtr torch_namespace() { return torch_home("torch"); }
SugarPtr ops_namespace() { return torch_home("ops"); }
SugarPtr torch_classes() {
  const SugarPtr s = sugar_text(SugarKind::Namespace, "__torch__");
  s->attribute = [](const std::string& name, const Range&) -> SugarPtr { return name == "torch" ? torch_home("torch") : nullptr; };
  return s;
}

std::optional<Type> named_tuple(const std::string& name) {
  NamedTuples& t = named_tuples();
  const std::lock_guard lock(t.mutex);
  const auto found = t.rows.find(name);
  return found == t.rows.end() ? std::nullopt : std::optional<Type>(found->second.first);
}
std::map<std::string, Datum> named_tuple_defaults(const std::string& name) {
  NamedTuples& t = named_tuples();
  const std::lock_guard lock(t.mutex);
  const auto found = t.rows.find(name);
  return found == t.rows.end() ? std::map<std::string, Datum>() : found->second.second;
}
Type define_named_tuple(const std::string& name, std::vector<Type> types, std::vector<std::string> fields, std::map<std::string, Datum> defaults) {
  NamedTuples& t = named_tuples();
  const std::lock_guard lock(t.mutex);
  std::string free = name;
  for (size_t i = 0; t.rows.count(free); i++) {
    Type candidate = Type::tuple(types, fields, free);
    if (t.rows[free].first == candidate) {
      t.rows[free].second = std::move(defaults);
      return candidate;
    }
    const size_t dot = name.rfind('.');
    free = (dot == std::string::npos ? "" : name.substr(0, dot) + ".") + "___torch_mangle_" + std::to_string(i) + "." +
           name.substr(dot == std::string::npos ? 0 : dot + 1);
  }
  Type type = Type::tuple(std::move(types), std::move(fields), free);
  t.rows[free] = {type, std::move(defaults)};
  return type;
}

}  // namespace cresset::graph::script
