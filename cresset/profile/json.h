#pragma once
// Text of JSON, and files that are whole or not there.

#include <string>
#include <vector>

#include "cresset/dispatch/values/value.h"

namespace cresset::profile {

std::string json_text(const std::string& text);
std::string json_list(const std::vector<int64_t>& values);
// Numbers, flags, text and lists of them; null for anything else.
std::string json_value(const dispatch::Value& v);

// Compressed where the name ends in .gz. Errors: a file that cannot be written; nothing is left half-written.
void write_text(const std::string& path, const std::string& text);

}  // namespace cresset::profile
