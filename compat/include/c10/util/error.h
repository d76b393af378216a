#pragma once
#include <cstring>
#include <string>
#include <system_error>
namespace c10::utils {
// The system's text for an error number.
inline std::string str_error(int number) { return std::generic_category().message(number); }
}  // namespace c10::utils
