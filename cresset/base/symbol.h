#pragma once
// Interned names with a namespace: "aten::add" is one number for the whole process.

#include <cstdint>
#include <functional>
#include <string>

#include "cresset/base/macros.h"

namespace cresset {

class CRESSET_API Symbol {
 public:
  // Stands for no name.
  constexpr Symbol() = default;
  // Errors: a name without "::".
  static Symbol fromQualString(const std::string& name);
  static Symbol attr(const std::string& name) { return within("attr", name); }
  static Symbol aten(const std::string& name) { return within("aten", name); }
  static Symbol cuda(const std::string& name) { return within("cuda", name); }
  static Symbol onnx(const std::string& name) { return within("onnx", name); }
  static Symbol prim(const std::string& name) { return within("prim", name); }
  static Symbol user(const std::string& name) { return within("user", name); }
  static Symbol caffe2(const std::string& name) { return within("_caffe2", name); }
  static Symbol dimname(const std::string& name) { return within("dimname", name); }
  static Symbol scope(const std::string& name) { return within("scope", name); }
  static std::string domain_prefix() { return "org.pytorch."; }

  bool is_attr() const { return is_in("attr"); }
  bool is_aten() const { return is_in("aten"); }
  bool is_cuda() const { return is_in("cuda"); }
  bool is_prim() const { return is_in("prim"); }
  bool is_onnx() const { return is_in("onnx"); }
  bool is_user() const { return is_in("user"); }
  bool is_caffe2() const { return is_in("_caffe2"); }
  bool is_dimname() const { return is_in("dimname"); }
  // The namespace as a symbol of its own, "namespaces::aten".
  Symbol ns() const;

  constexpr operator uint32_t() const { return value_; }
  // "aten::add", "add".
  const char* toQualString() const;
  const char* toUnqualString() const;
  const char* toDisplayString() const { return toQualString(); }
  std::string domainString() const;

 private:
  explicit constexpr Symbol(uint32_t value) : value_(value) {}
  static Symbol within(const char* ns, const std::string& name);
  bool is_in(const char* ns) const;
  uint32_t value_ = 0;
};

inline bool operator==(Symbol a, Symbol b) { return static_cast<uint32_t>(a) == static_cast<uint32_t>(b); }
inline bool operator!=(Symbol a, Symbol b) { return !(a == b); }

}  // namespace cresset

namespace std {
template <> struct hash<cresset::Symbol> {
  size_t operator()(cresset::Symbol s) const noexcept { return static_cast<uint32_t>(s); }
};
}  // namespace std
