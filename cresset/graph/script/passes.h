#pragma once
// Passes over modules: what is constant once a module no longer trains.

#include "cresset/graph/script/unit.h"

namespace cresset::graph::script {

// A module of its own whose parameters, attributes and submodules are constants of its methods; those that are written, and the named ones, stay.
// Errors: the module trains; there is no attribute or method of a name.
CRESSET_API Datum freeze_module(const Datum& module, const std::vector<std::string>& preserved);
// Within a frozen module: norms become part of the convolutions before them.
CRESSET_API void optimize_frozen(const Datum& module);
// The names of the operators that the module's methods call, sorted.
CRESSET_API std::vector<std::string> operator_names(const Datum& module);

}  // namespace cresset::graph::script
