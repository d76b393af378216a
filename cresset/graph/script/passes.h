#pragma once
// Passes over modules: what is constant once a module no longer trains.

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// A module of its own whose parameters, attributes and submodules are constants of its methods; those that are written, and the named ones, stay.
// A name with dots is one of a submodule, which stays a module of its own for it. A module that trains keeps the branches of training. Errors: there is no
// attribute or method of a name.
CRESSET_API Datum freeze_module(const Datum& module, const std::vector<std::string>& preserved, bool preserve_parameters = false);
// Within a frozen module: norms, sums and products with constants become part of the convolutions before them, dropout goes.
CRESSET_API void optimize_frozen(const Datum& module);
// Programs of the module's methods keep constant weights of convolutions and linear maps packed as well, for speed.
// Returns of how many.
CRESSET_API size_t pack_weights(const Datum& module);
// Functions of constant numbers and strings are computed, casts and tests for None of constants settled, branches decided. Returns how many nodes went.
CRESSET_API size_t fold_builtins(Graph& graph);
// Lists of constant numbers that operators read, tuples that are taken apart again, elements and lengths of lists that nothing writes, sums with 0 and products with 1, branches that give one value.
CRESSET_API size_t peephole(Graph& graph);
// Types of all values from those of the parameters, as far as they are known: dtype, device, sizes, strides and whether gradients are recorded. Each node runs
// without data, at a few choices of what is unknown. Branches that differ, and trips of loops, leave what they have in common. Returns how many types changed.
CRESSET_API size_t infer_types(Graph& graph);
// Types that say nothing of dtypes and sizes. Programs are made of graphs with such types, as they take tensors of any.
CRESSET_API size_t erase_types(Graph& graph);
// Passes of TorchScript's own graphs by their names: "fold_builtins", "peephole", "pool" (equal constants become one), "lower_tuples" (parameters and results
// that are tuples become their elements), "inline_forks" (calls on the side run where they stand), "norms" (into the convolutions before them), "sums" and
// "scales" (constants that are added to a convolution, or that it is multiplied with, into its weights), "dropout" and "expands" (to the size that is
// there), which give their input, "types", "erase_types", "own_writes", "writes" and "activations", as the functions below.
CRESSET_API bool is_script_pass(std::string_view name);
CRESSET_API size_t run_script_pass(Graph& graph, std::string_view name);
// All of these passes and those of graphs, for a function with all that it calls, before it becomes a program. Returns how much it changed.
CRESSET_API size_t optimize(Graph& graph, bool unrolls_in_part = true);
// Writes in place to tensors that an operator of the same block has made, and of which nothing else sees the memory, become operators that give a new value.
size_t remove_own_writes(Graph& graph);
// The same for all writes in place, also to parameters, which callers see no longer.
size_t remove_writes(Graph& graph);
// Activations of tensors that nothing else reads run in place.
size_t activate_in_place(Graph& graph);
// Lists of constant numbers that operators read become constants.
size_t fold_lists(Graph& graph);
// The names of the operators that the module's methods call, sorted.
CRESSET_API std::vector<std::string> operator_names(const Datum& module);

}  // namespace cresset::graph::script
