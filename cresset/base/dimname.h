#pragma once
// The name of a dimension, or the wildcard "*" that goes with every name.

#include <iosfwd>
#include <optional>
#include <vector>

#include "cresset/base/array_ref.h"
#include "cresset/base/symbol.h"

namespace cresset {

enum class NameType : uint8_t { BASIC, WILDCARD };

class CRESSET_API Dimname {
 public:
  // Errors: no valid identifier.
  static Dimname fromSymbol(Symbol name);
  static Dimname wildcard();
  // Letters, digits and underscores, and no digit first.
  static bool isValidName(const std::string& name);

  NameType type() const { return type_; }
  Symbol symbol() const { return name_; }
  bool isBasic() const { return type_ == NameType::BASIC; }
  bool isWildcard() const { return type_ == NameType::WILDCARD; }
  bool matches(Dimname other) const;
  // The name that two dimensions have together; nothing where the names differ.
  std::optional<Dimname> unify(Dimname other) const;

 private:
  explicit Dimname(Symbol name, NameType type = NameType::BASIC) : name_(name), type_(type) {}
  Symbol name_;
  NameType type_;
};

using DimnameList = ArrayRef<Dimname>;

inline bool operator==(Dimname a, Dimname b) { return a.symbol() == b.symbol(); }
inline bool operator!=(Dimname a, Dimname b) { return !(a == b); }
CRESSET_API std::ostream& operator<<(std::ostream& out, const Dimname& name);

}  // namespace cresset
