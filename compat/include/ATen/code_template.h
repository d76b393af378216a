#pragma once
// Texts of programs with places to fill in: at::jit::CodeTemplate("int $name($args) {\n  $body\n}").format(environment).

#include <cctype>
#include <string>
#include <unordered_map>
#include <vector>

#include "torch/detail/macros.h"

namespace at::jit {

// The strings and lists that stand for the names; the parts of a list stand on lines of their own or have commas between them. A name that is
// not found is looked for in `parent`.
class TemplateEnv {
 public:
  TemplateEnv() = default;
  explicit TemplateEnv(TemplateEnv& parent) : parent_(&parent) {}

  void s(const std::string& name, const std::string& value) {
    strings_[name] = value;
    lists_.erase(name);
  }
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> void d(const std::string& name, T value) { s(name, std::to_string(value)); }
  void v(const std::string& name, const std::vector<std::string>& values) {
    lists_[name] = values;
    strings_.erase(name);
  }
  // Errors: there is no such name.
  const std::string& s(const std::string& name) const {
    for (const TemplateEnv* env = this; env; env = env->parent_)
      if (const auto found = env->strings_.find(name); found != env->strings_.end()) return found->second;
    TORCH_CHECK(false, "TemplateEnv: there is no string for $", name);
  }
  const std::vector<std::string>& v(const std::string& name) const {
    for (const TemplateEnv* env = this; env; env = env->parent_)
      if (const auto found = env->lists_.find(name); found != env->lists_.end()) return found->second;
    TORCH_CHECK(false, "TemplateEnv: there is no list for $", name);
  }
  bool keyIsString(const std::string& name) const {
    for (const TemplateEnv* env = this; env; env = env->parent_) {
      if (env->strings_.count(name)) return true;
      if (env->lists_.count(name)) return false;
    }
    return false;
  }

 private:
  std::unordered_map<std::string, std::string> strings_;
  std::unordered_map<std::string, std::vector<std::string>> lists_;
  TemplateEnv* parent_ = nullptr;
};

// $name and ${name}; ${,name} and ${name,} put a comma before and behind a list that is not empty; $$ is a dollar. A name alone on its
// line gives lines that are as far to the right.
class CodeTemplate {
 public:
  CodeTemplate(std::string text) : text_(std::move(text)) {}

  // Errors: a name that the environment does not have; `${` without an end.
  std::string format(const TemplateEnv& env) const {
    std::string out;
    size_t line = 0;
    for (size_t at = 0; at < text_.size();) {
      if (text_[at] != '$') {
        out += text_[at];
        if (text_[at++] == '\n') line = at;
        continue;
      }
      if (at + 1 < text_.size() && text_[at + 1] == '$') {
        out += '$';
        at += 2;
        continue;
      }
      const size_t start = at;
      const Place place = read(at);
      if (env.keyIsString(place.name)) {
        out += env.s(place.name);
        continue;
      }
      const auto& list = env.v(place.name);
      const bool alone = text_.find_first_not_of(" \t", line) == start && (at == text_.size() || text_[at] == '\n');
      if (alone) {
        out.resize(out.size() - (start - line));
        out += lines(list, start - line);
      } else if (!list.empty()) {
        out += place.before ? ", " : "";
        for (size_t i = 0; i < list.size(); i++) out += (i > 0 ? ", " : "") + list[i];
        out += place.after ? ", " : "";
      }
    }
    return out;
  }

 private:
  struct Place {
    std::string name;
    bool before = false, after = false;
  };
  static bool names(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  // The place that begins at `at`, which moves behind it.
  Place read(size_t& at) const {
    Place place;
    const bool braced = ++at < text_.size() && text_[at] == '{';
    if (braced && ++at < text_.size() && text_[at] == ',') {
      place.before = true;
      at++;
    }
    while (at < text_.size() && names(text_[at])) place.name += text_[at++];
    if (braced && at < text_.size() && text_[at] == ',') {
      place.after = true;
      at++;
    }
    TORCH_CHECK(!place.name.empty(), "CodeTemplate: expected a name behind $ in \"", text_, "\"");
    if (braced) TORCH_CHECK(at < text_.size() && text_[at++] == '}', "CodeTemplate: expected } behind ${", place.name, " in \"", text_, "\"");
    return place;
  }
  // Every line of the parts, moved to the right; between them line breaks.
  static std::string lines(const std::vector<std::string>& parts, size_t indent) {
    std::string out;
    for (size_t i = 0; i < parts.size(); i++) {
      out += (i > 0 ? "\n" : "") + std::string(indent, ' ');
      for (size_t at = 0; at < parts[i].size(); at++) {
        out += parts[i][at];
        if (parts[i][at] == '\n') out += std::string(indent, ' ');
      }
    }
    return out;
  }

  std::string text_;
};

}  // namespace at::jit
