#pragma once
// Functions of numbers, lists and shapes that are no operators of tensors: what size computations and TorchScript's language need. Programs may add
// to the table.

#include "cresset/graph/ir/type.h"

namespace cresset::graph {

struct Builtin {
  std::string name;  // "ir::mul"
  int min_inputs = 0, max_inputs = 0;
  Type result;
  // Whether equal inputs give equal results and nothing else happens: what constant folding and merging ask.
  bool is_pure = true;
  // Reads the inputs and writes the output, which holds the result of an earlier call or None.
  void (*run)(const Datum* const* inputs, size_t count, Datum& output) = nullptr;
  // Of those that are not pure. Nothing: they read, or make something of their own, so that one whose result nothing uses can go. Inputs: they write
  // lists, objects and tensors among their inputs.
  enum class Effect : uint8_t { Anything, Inputs, Nothing };
  Effect effect = Effect::Anything;
  bool has_effect() const { return !is_pure && effect != Effect::Nothing; }
};

// Null where there is none.
CRESSET_API const Builtin* find_builtin(std::string_view name);
CRESSET_API std::vector<const Builtin*> all_builtins();
// It stays for the rest of the program. Errors: a name that is taken, or without "::".
CRESSET_API const Builtin& register_builtin(Builtin builtin);

}  // namespace cresset::graph
