#include "cresset/base/dimname.h"

#include <cctype>
#include <ostream>

#include "cresset/base/error.h"

namespace cresset {

bool Dimname::isValidName(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (const char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

Dimname Dimname::fromSymbol(Symbol name) {
  CRESSET_CHECK(name.is_dimname(), "Dimname: expected a symbol made by Symbol::dimname, got ", name.toQualString());
  if (name == Symbol::dimname("*")) return wildcard();
  CRESSET_CHECK(isValidName(name.toUnqualString()), "Dimname: expected letters, digits and underscores and no digit first, got '", name.toUnqualString(), "'");
  return Dimname(name);
}
Dimname Dimname::wildcard() { return Dimname(Symbol::dimname("*"), NameType::WILDCARD); }

std::optional<Dimname> Dimname::unify(Dimname other) const {
  if (other.isWildcard() || name_ == other.name_) return *this;
  return isWildcard() ? std::optional<Dimname>(other) : std::nullopt;
}

bool Dimname::matches(Dimname other) const { return unify(other).has_value(); }

std::ostream& operator<<(std::ostream& out, const Dimname& name) {
  return name.isWildcard() ? out << "None" : out << '\'' << name.symbol().toUnqualString() << '\'';
}

}  // namespace cresset
