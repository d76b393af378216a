#pragma once
// Inside the room: what stores keep, and the operations on it.

#include <map>
#include <string>
#include <vector>

#include "cresset/base/error.h"

namespace cresset::distributed {

struct Table {
  std::map<std::string, std::string> values;

  bool has(const std::vector<std::string>& keys) const {
    for (const std::string& key : keys)
      if (!values.count(key)) return false;
    return true;
  }
  int64_t add(const std::string& key, int64_t amount) {
    std::string& value = values[key];
    size_t read = 0;
    int64_t number = 0;
    try {
      number = value.empty() ? 0 : std::stoll(value, &read);
    } catch (const std::exception&) {}
    CRESSET_CHECK_VALUE(read == value.size(), "store: add: expected a number in the key '", key, "', it holds ", value.size(), " bytes that are none");
    value = std::to_string(number + amount);
    return number + amount;
  }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
    const auto at = values.find(key);
    if (at == values.end()) return expected.empty() ? values[key] = desired : expected;
    if (at->second == expected) at->second = desired;
    return at->second;
  }
};

[[noreturn]] inline void throw_missing(const std::vector<std::string>& keys, const Table& table, int64_t milliseconds) {
  std::string missing;
  for (const std::string& key : keys)
    if (!table.values.count(key)) missing += (missing.empty() ? "'" : ", '") + key + "'";
  throw Error(str("store: waited ", milliseconds, " ms for ", missing, ", which no process has set"));
}

}  // namespace cresset::distributed
