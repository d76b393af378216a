#pragma once
// Texts of programs.

#include <optional>
#include <string>
#include <string_view>

#include "cresset/graph/script/source.h"

namespace torch::jit {

// A text, with the name of its file and the line that it begins on there, counted from 0.
struct Source : cresset::graph::script::Source {
  explicit Source(std::string_view code, const std::optional<std::string>& file_name = std::nullopt, size_t starting_line = 0) {
    text = code;
    file = file_name.value_or("");
    first_line = static_cast<int>(starting_line) + 1;
  }
  size_t size() const { return text.size(); }
};

}  // namespace torch::jit
