#pragma once
// A call's arguments as a trace writes them.

#include "cresset/profile/event.h"

namespace cresset::profile {

std::vector<InputFact> inputs_of(const dispatch::OpEntry& op, const dispatch::Stack& stack);
// The dtype as traces name it: "float", "long int", "c10::BFloat16".
CRESSET_API const char* trace_type_name(ScalarType t);

}  // namespace cresset::profile
