#pragma once
// Names with dots between their parts.

#include <algorithm>
#include <string>
#include <vector>

#include "torch/detail/macros.h"

namespace c10 {

// "a.b.c": a name with what stands before it.
class QualifiedName {
 public:
  QualifiedName() = default;
  // Errors: ValueError, a part without text.
  QualifiedName(const std::string& name) : name_(name) {
    for (const std::string& part : atoms()) TORCH_CHECK_VALUE(!part.empty(), "QualifiedName: expected parts with dots between them, got \"", name, "\"");
  }
  QualifiedName(const char* name) : QualifiedName(std::string(name)) {}
  explicit QualifiedName(const std::vector<std::string>& parts) {
    for (const std::string& part : parts) *this = QualifiedName(*this, part);
  }
  QualifiedName(const QualifiedName& prefix, const std::string& name) : QualifiedName(prefix.name_.empty() ? name : prefix.name_ + "." + name) {}
  const std::string& qualifiedName() const { return name_; }
  operator const std::string&() const { return name_; }  // units take names as text
  std::string prefix() const { return name_.find('.') == std::string::npos ? "" : name_.substr(0, name_.rfind('.')); }
  std::string name() const { return name_.find('.') == std::string::npos ? name_ : name_.substr(name_.rfind('.') + 1); }
  std::vector<std::string> atoms() const {
    std::vector<std::string> out;
    for (size_t at = 0; at <= name_.size();) {
      const size_t end = std::min(name_.find('.', at), name_.size());
      out.push_back(name_.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }
  bool isPrefixOf(const QualifiedName& other) const { return other.name_ == name_ || other.name_.compare(0, name_.size() + 1, name_ + ".") == 0; }
  friend bool operator==(const QualifiedName& a, const QualifiedName& b) { return a.name_ == b.name_; }
  friend bool operator!=(const QualifiedName& a, const QualifiedName& b) { return a.name_ != b.name_; }

 private:
  std::string name_;
};

}  // namespace c10
