#pragma once
// Meanings of names and expressions while a function is compiled: values of the graph, and things that only the compiler knows.

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

enum class SugarKind : uint8_t {
  Value,
  Tuple,      // of anything: constants of Python, elements of a container of modules
  Namespace,  // a module of Python, an archive's `torch`
  Builtin,    // text: "aten::relu"; `self` the first argument, if any
  Special,    // text: what the compiler itself does: range, isinstance, ...
  Function,   // function; `self` the object of a method
  Method,     // text: of an object whose class is known by an interface or later; self
  Class,      // cls: called, it makes an object; of an enum, its members are attributes
  TypeName,   // type: of a named tuple it makes one; of others it converts
  Exception,  // text
  Constant,   // datum
  Overloads,  // several functions, of which the arguments choose
  Zip,        // text: range, enumerate or zip, over `items`
  Slice,      // items: where it starts, where it stops, its step; null where they go without saying
  Super,
};

struct Sugar {
  SugarKind kind = SugarKind::Value;
  Value* value = nullptr;
  Value* self = nullptr;
  const Ast* ast = nullptr;  // of a function within a function, as archives have them for fork
  std::string text;
  Function* function = nullptr;
  ClassType* cls = nullptr;
  Type type;
  Datum datum;
  std::vector<SugarPtr> items;
  std::vector<std::string> keys;  // of a Tuple that is a container with names; of Overloads, the flags that choose
  // With keys, one for each choice of the flags, the first of which is the lowest bit. Of a Builtin, two for arguments that the operator takes no longer, the second with `out`.
  std::vector<Function*> overloads;
  std::function<SugarPtr(const std::string& name, const Range& range)> attribute;  // of a Namespace

  explicit Sugar(SugarKind k) : kind(k) {}
};

inline SugarPtr sugar(SugarKind kind) { return std::make_shared<Sugar>(kind); }
inline SugarPtr sugar(Value* v) {
  SugarPtr s = sugar(SugarKind::Value);
  s->value = v;
  return s;
}
inline SugarPtr sugar_text(SugarKind kind, std::string text) {
  SugarPtr s = sugar(kind);
  s->text = std::move(text);
  return s;
}
inline SugarPtr sugar_constant(Datum v) {
  SugarPtr s = sugar(SugarKind::Constant);
  s->datum = std::move(v);
  return s;
}
inline SugarPtr sugar(Function* f) {
  SugarPtr s = sugar(SugarKind::Function);
  s->function = f;
  return s;
}
inline SugarPtr sugar(ClassType* c) {
  SugarPtr s = sugar(SugarKind::Class);
  s->cls = c;
  return s;
}
inline SugarPtr sugar_type(Type t) {
  SugarPtr s = sugar(SugarKind::TypeName);
  s->type = std::move(t);
  return s;
}

// The names that every text knows: int, range, len, List, ...; null: no such name.
SugarPtr builtin_name(const std::string& name);
// Attributes of `torch` and what stands below it, as archives and CompilationUnit spell them.
CRESSET_API SugarPtr torch_namespace();
CRESSET_API SugarPtr ops_namespace();
// `__torch__`, below which `torch.classes` stands.
// The dtype of torch.LongTensor and its kin; none for other names.
std::optional<ScalarType> dtype_of_old_type(const std::string& name);
SugarPtr torch_classes();
SugarPtr math_namespace();
// An operator of PyTorch that is written in TorchScript here; null: there is none.
CRESSET_API Function* library_function(const std::string& name);
// The operator of PyTorch that such a function is by its qualified name; empty: it is none.
std::string library_operator(const std::string& function);
// Named tuples of the process, by qualified name.
CRESSET_API std::optional<Type> named_tuple(const std::string& name);
std::map<std::string, Datum> named_tuple_defaults(const std::string& name);
// The type, under the name or, where it is taken by other fields, a like one.
CRESSET_API Type define_named_tuple(const std::string& name, std::vector<Type> types, std::vector<std::string> fields, std::map<std::string, Datum> defaults);
// A type of an annotation. Errors: CompileError.
Type type_of_annotation(const Ast& annotation, Resolver* resolver);
CRESSET_API Type type_of_text(const std::string& text, Resolver* resolver, const Range& range = {});

// Compiles the body of `def` into the function's graph.
void emit_function(Function& function, const Ast& def, Resolver& resolver, bool infer_return);

}  // namespace cresset::graph::script
