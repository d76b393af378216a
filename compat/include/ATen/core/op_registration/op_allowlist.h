#pragma once
#include <string_view>
namespace c10::impl {
// Whether `item` is one of the names that semicolons separate.
constexpr bool allowlist_contains(std::string_view list, std::string_view item) {
  for (;;) {
    const size_t end = list.find(';');
    if (list.substr(0, end) == item) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + 1);
  }
}
// Every operator is registered, whichever are in the list.
constexpr bool op_allowlist_check(std::string_view) { return true; }
constexpr bool op_allowlist_contains_name_in_schema(std::string_view list, std::string_view schema) {
  return allowlist_contains(list, schema.substr(0, schema.find('(')));
}
}  // namespace c10::impl
