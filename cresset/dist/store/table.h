#pragma once
// Inside the room: what stores keep, and the operations on it.

#include <algorithm>
#include <deque>
#include <map>

#include "cresset/dist/store/store.h"
#include "cresset/dist/transport/deadline.h"

namespace cresset::distributed {

struct Lease {
  std::string owner;
  int64_t number = 0;
  std::chrono::steady_clock::time_point end{};
};

struct Table {
  std::map<std::string, std::string> values;
  std::map<std::string, std::deque<std::string>> queues;
  std::map<std::string, Lease> leases;
  int64_t last_lease = 0;

  bool has(const std::vector<std::string>& keys) const {
    return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return values.count(key) || queues.count(key); });
  }
  int64_t add(const std::string& key, int64_t amount) {
    std::string& value = values[key];
    size_t read = 0;
    int64_t number = 0;
    try {
      number = value.empty() ? 0 : std::stoll(value, &read);
    } catch (const std::exception&) {}
    CRESSET_CHECK_VALUE(read == value.size(), "store: add: expected a number in the key '", key, "', it holds ", value.size(), " bytes that are none");
    // Beyond the largest number it begins at the smallest.
    const auto sum = static_cast<int64_t>(static_cast<uint64_t>(number) + static_cast<uint64_t>(amount));
    value = std::to_string(sum);
    return sum;
  }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
    const auto at = values.find(key);
    if (at == values.end()) return expected.empty() ? values[key] = desired : expected;
    if (at->second == expected) at->second = desired;
    return at->second;
  }
  bool erase(const std::string& key) { return values.erase(key) + queues.erase(key) > 0; }
  int64_t size() const { return static_cast<int64_t>(values.size() + queues.size()); }
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const auto& [key, value] : values) all.push_back(key);
    for (const auto& [key, value] : queues) all.push_back(key);
    return all;
  }
  bool pop(const std::string& key, std::string& value) {
    const auto at = queues.find(key);
    if (at == queues.end()) return false;
    value = std::move(at->second.front());
    at->second.pop_front();
    if (at->second.empty()) queues.erase(at);
    return true;
  }
  int64_t length(const std::string& key) const {
    const auto at = queues.find(key);
    return at == queues.end() ? 0 : static_cast<int64_t>(at->second.size());
  }
  int64_t acquire(const std::string& name, const std::string& owner, std::chrono::milliseconds time) {
    const auto now = std::chrono::steady_clock::now();
    Lease& lease = leases[name];
    if (lease.number && lease.end > now && lease.owner != owner) return 0;
    if (!lease.number || lease.owner != owner || lease.end <= now) lease.number = ++last_lease;
    lease.owner = owner;
    lease.end = after(time);
    return lease.number;
  }
  bool release(const std::string& name, const std::string& owner) {
    const auto at = leases.find(name);
    if (at == leases.end() || at->second.owner != owner) return false;
    const bool held = at->second.end > std::chrono::steady_clock::now();
    leases.erase(at);
    return held;
  }
};

template <class Has> [[noreturn]] void throw_missing(const std::vector<std::string>& keys, int64_t milliseconds, Has&& has) {
  std::string missing;
  for (const std::string& key : keys)
    if (!has(key)) missing += (missing.empty() ? "'" : ", '") + key + "'";
  throw DistStoreError(str("store: waited ", milliseconds, " ms for ", missing, ", which no process has set"));
}
[[noreturn]] inline void throw_missing(const std::vector<std::string>& keys, const Table& table, int64_t milliseconds) {
  throw_missing(keys, milliseconds, [&](const std::string& key) { return table.has({key}); });
}

}  // namespace cresset::distributed
