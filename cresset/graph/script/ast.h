#pragma once
// Trees of TorchScript's text.

#include "cresset/graph/ir/type.h"
#include "cresset/graph/script/source.h"

namespace cresset::graph::script {

enum class AstKind : uint8_t {
  // Expressions. Children in brackets.
  Name,     // text
  Literal,  // value: number, string, bool, None
  Ellipsis,
  Attribute,  // [object], text
  Call,       // [function, arguments...], of which some are Keyword or Starred
  Keyword,    // [value], text; without text: **value
  Starred,    // [value]
  Subscript,  // [object, index...]
  Slice,      // [start, stop, step], each may be null
  Unary,      // [operand], text: - + ~ not
  Binary,     // [left, right], text
  Compare,    // [left, right], text: == != < <= > >= is "is not" in "not in"
  And,        // [left, right]
  Or,
  Choice,  // [condition, then, else]
  List,
  Tuple,
  Dict,    // [key, value, key, value...]
  ListOf,  // comprehension: [element, target, iterable, conditions...]
  DictOf,  // [key, value, target, iterable, conditions...]
  Format,  // f-string: Literals and others in turn
  // Statements.
  Def,        // text, [parameters..., returns or null, body Block]; `decorators`
  Parameter,  // text, [annotation or null, default or null]; value: whether it is keyword-only
  Block,
  Class,      // text, [body, bases...]
  Return,     // [value or null]
  Assign,     // [value, targets...]
  Annotated,  // [target, annotation, value or null]
  Augmented,  // [target, value], text: the operator without =
  Expression,
  If,     // [condition, then Block, else Block]
  While,  // [condition, body]
  For,    // [target, iterable, body]
  Break,
  Continue,
  Pass,
  Assert,  // [condition, message or null]
  Raise,   // [value or null]
  With,    // [body, context, target or null, context, target...]
  Delete,  // [targets...]
};

struct Ast;
using AstPtr = std::unique_ptr<Ast>;

struct Ast {
  AstKind kind;
  Range range;
  std::string text;
  Datum value;
  std::vector<AstPtr> kids;
  std::vector<std::string> decorators;  // of a Def: their text without arguments
  std::string type_comment;             // of a Def, Parameter or Assign
  int height = 0;                       // of an expression: levels of the tree below it

  Ast(AstKind k, Range r) : kind(k), range(std::move(r)) {}
  const Ast& operator[](size_t i) const { return *kids[i]; }
  const Ast* kid(size_t i) const { return i < kids.size() ? kids[i].get() : nullptr; }
};

// Functions and classes of a text, and what else stands at its top. Errors: CompileError, NotSupportedError.
CRESSET_API std::vector<AstPtr> parse_source(const std::shared_ptr<const Source>& source);
// One expression: for types in comments and strings.
CRESSET_API AstPtr parse_expression(const std::shared_ptr<const Source>& source);

}  // namespace cresset::graph::script
