#pragma once
// Signatures of functions, and the functions of numbers, lists, strings and dicts that TorchScript has beside the operators of tensors.

#include <optional>

#include "cresset/graph/ir/graph.h"
#include "cresset/graph/runtime/element_kind.h"

namespace cresset::graph::script {

struct SchemaArgument {
  std::string name;
  Type type;
  std::optional<Datum> default_value;
  bool keyword_only = false;
  int broadcast = 0;  // of int[2]: one number stands for so many
  bool writes = false;
};

struct CRESSET_API Schema {
  std::string name, overload;  // "aten::add", "Tensor"
  std::vector<SchemaArgument> arguments;
  std::vector<Type> returns;
  std::vector<std::string> return_names;
  bool is_variadic = false;  // more values by position go as they are to the function of Python that is behind it

  // "f(Tensor x, int n=2) -> Tensor", as PyTorch writes it.
  std::string text() const;
  int index_of(std::string_view argument) const;
};

// A type as annotations spell it, List[int], and as schemas do, int[].
CRESSET_API std::string annotation_text(const Type& type);
CRESSET_API std::string schema_type_text(const Type& type);
Type schema_type(const std::string& text);               // "int[]", "Dict(str, Tensor)", "__torch__.Net"
CRESSET_API std::string literal_of(const Datum& value);  // as Python writes it

// Whether each value of `type` is one of `of`: ints are Numbers, T is an Optional[T], a class is what its interfaces are.
CRESSET_API bool is_subtype(const Type& type, const Type& of);
// The least type that both are; none where there is none but Any.
CRESSET_API std::optional<Type> unify(const Type& a, const Type& b);
// Variables of types: 't in "t[] list". Binds those of `pattern`; false if the type does not fit.
bool is_variable(const Type& type);
bool match_type(const Type& pattern, const Type& type, std::map<std::string, Type>& bound);
Type substitute(const Type& pattern, const std::map<std::string, Type>& bound);
bool has_variables(const Type& type);

// One way to call a function of a name: an operator of the dispatcher or a builtin.
struct Candidate {
  Schema schema;
  const dispatch::OpEntry* op = nullptr;
  const Builtin* builtin = nullptr;
};
// All ways to call "aten::add"; empty: there is none.
CRESSET_API const std::vector<Candidate>& find_candidates(const std::string& name);
// The schema of a builtin; null for those of the IR itself.
const Schema* schema_of(const Builtin& builtin);

// Registers the builtins of TorchScript once.
CRESSET_API void register_builtins();
using BuiltinFn = void (*)(const Datum* const* inputs, size_t count, Datum& output);
// From the text of a schema; `pure`: it may be computed at compile time.
void add_builtin(const char* schema, BuiltinFn run, bool pure = true);
// The function that gets each line that programs print, with its end.
using PrintHandler = void (*)(const std::string& line);
CRESSET_API void set_print_handler(PrintHandler to);

void add_number_builtins();
void add_list_builtins();
void add_dict_builtins();
void add_string_builtins();
void add_object_builtins();
void add_tensor_builtins();
void add_generator_builtins();

// Lists and dicts that values share.
CRESSET_API dispatch::ListObject& list_of(const Datum& value);
CRESSET_API dispatch::DictObject& dict_of(const Datum& value);
CRESSET_API Datum make_list(dispatch::ElementKind kind, std::vector<Datum> elements);
// Lists as operators return them become lists that are shared.
CRESSET_API Datum shared(Datum value, const Type& type);

}  // namespace cresset::graph::script
