#include "cresset/base/symbol.h"

#include <deque>
#include <mutex>
#include <unordered_map>

#include "cresset/base/error.h"

namespace cresset {

namespace {

struct Name {
  std::string text;
  size_t ns_length;
};

struct Table {
  std::mutex mutex;
  std::deque<Name> names{{"", 0}};
  std::unordered_map<std::string, uint32_t> numbers;
};

// Never destroyed: symbols may be asked for while the process ends.
Table& table() {
  static Table* const t = new Table;
  return *t;
}

const Name& name_of(uint32_t value) {
  Table& t = table();
  const std::lock_guard<std::mutex> lock(t.mutex);
  return t.names[value];
}

}  // namespace

Symbol Symbol::fromQualString(const std::string& name) {
  const size_t colons = name.find("::");
  CRESSET_CHECK(colons != std::string::npos && colons > 0 && colons + 2 < name.size(), "Symbol: expected a name like \"aten::add\", got \"", name, "\"");
  Table& t = table();
  const std::lock_guard<std::mutex> lock(t.mutex);
  const auto [at, is_new] = t.numbers.emplace(name, static_cast<uint32_t>(t.names.size()));
  if (is_new) t.names.push_back({name, colons});
  return Symbol(at->second);
}
Symbol Symbol::within(const char* ns, const std::string& name) { return fromQualString(std::string(ns) + "::" + name); }
bool Symbol::is_in(const char* ns) const {
  const Name& name = name_of(value_);
  return name.text.compare(0, name.ns_length, ns) == 0;
}
Symbol Symbol::ns() const {
  const Name& name = name_of(value_);
  return within("namespaces", name.text.substr(0, name.ns_length));
}
const char* Symbol::toQualString() const { return name_of(value_).text.c_str(); }
const char* Symbol::toUnqualString() const {
  const Name& name = name_of(value_);
  return name.text.c_str() + (value_ ? name.ns_length + 2 : 0);
}
std::string Symbol::domainString() const { return domain_prefix() + ns().toUnqualString(); }

}  // namespace cresset
