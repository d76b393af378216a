#pragma once
// Sizes as integer expressions over named symbols: 2*s0 + floordiv(s1, 4). Kept as polynomials, so that equal sizes compare equal.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::graph {

// The value of each symbol.
using Bindings = std::map<std::string, int64_t, std::less<>>;

class CRESSET_API Sym {
 public:
  enum class Function : uint8_t { Symbol, FloorDiv, Mod, Max, Min };

  Sym() : Sym(int64_t{0}) {}
  Sym(int64_t value);
  // Errors: a name that is no identifier.
  static Sym symbol(std::string name);
  // A size of which nothing is known; it equals no other, and itself.
  static Sym unknown();
  // Floor division and its remainder, as Python's. Errors: a divisor that is the number 0.
  static Sym floordiv(const Sym& a, const Sym& b);
  static Sym mod(const Sym& a, const Sym& b);
  static Sym max(const Sym& a, const Sym& b);
  static Sym min(const Sym& a, const Sym& b);

  bool is_known() const { return known_; }
  // The number that it is, if it holds no symbols.
  std::optional<int64_t> constant() const;
  // The number with symbols replaced; none where one of them has no value. Errors: an overflow, a division by zero.
  std::optional<int64_t> evaluate(const Bindings& bindings) const;
  std::vector<std::string> symbols() const;
  // With one symbol replaced everywhere.
  Sym substitute(std::string_view name, const Sym& by) const;
  // The name, where it is one symbol alone.
  std::optional<std::string> as_symbol() const;

  // Errors, here and below: an overflow of 64 bits.
  friend CRESSET_API Sym operator+(const Sym& a, const Sym& b);
  friend CRESSET_API Sym operator-(const Sym& a, const Sym& b);
  friend CRESSET_API Sym operator*(const Sym& a, const Sym& b);
  friend CRESSET_API bool operator==(const Sym& a, const Sym& b);
  friend bool operator!=(const Sym& a, const Sym& b) { return !(a == b); }

  // Reads back by parse.
  std::string text() const;
  // Errors: text that is no expression, with the column.
  static Sym parse(std::string_view text);

 private:
  struct Atom;
  using AtomPtr = std::shared_ptr<const Atom>;
  // Atoms in the order of their texts, with powers.
  using Monomial = std::map<std::string, int>;

  static Sym of(Function function, std::string name, std::vector<Sym> arguments);
  template <class F> Sym map_atoms(F&& replace) const;

  bool known_ = true;
  std::map<Monomial, int64_t> terms_;     // coefficients, none of which is 0
  std::map<std::string, AtomPtr> atoms_;  // by text
};

}  // namespace cresset::graph
