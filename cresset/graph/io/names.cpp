#include "cresset/graph/io/names.h"

#include <algorithm>
#include <map>

#include "cresset/base/error.h"
#include "cresset/dispatch/op.h"

namespace cresset::graph {

namespace {

struct Row {
  const char *name, *overload, *form, *home, *aliases;  // aliases: separated by spaces
  bool method;
};
constexpr Row kRows[] = {
#include "cresset/ops/python_operators.inc"
};

// Operators by their other names: those of the rows, Python's operators on bits, and attributes of tensors.
std::multimap<std::string_view, std::pair<std::string_view, std::string_view>> read_aliases() {
  std::multimap<std::string_view, std::pair<std::string_view, std::string_view>> table;
  for (const Row& row : kRows)
    for (std::string_view rest = row.aliases; !rest.empty();) {
      const std::string_view alias = rest.substr(0, rest.find(' '));
      table.emplace(alias, std::pair(row.name, row.overload));
      rest.remove_prefix(std::min(rest.size(), alias.size() + 1));
    }
  constexpr const char* kBits[][2] = {
      {"and", "bitwise_and"}, {"or", "bitwise_or"}, {"xor", "bitwise_xor"}, {"lshift", "bitwise_left_shift"}, {"rshift", "bitwise_right_shift"}};
  static std::map<std::string, std::string> names;  // what the table's views point to
  for (const auto& [python, ours] : kBits)
    for (const bool in_place : {false, true}) {
      const auto [at, is_new] = names.emplace(str(in_place ? "__i" : "__", python, "__"), str(ours, in_place ? "_" : ""));
      for (const char* overload : {"Tensor", "Scalar", "Tensor_Scalar"})
        table.emplace(at->first, std::pair<std::string_view, std::string_view>(at->second, overload));
    }
  constexpr const char* kOthers[][3] = {{"special_logsumexp", "logsumexp", ""}, {"special_round", "round", ""},
                                        {"special_softmax", "softmax", "int"},  {"special_log_softmax", "log_softmax", "int"},
                                        {"transpose_", "transpose_", "int"},    {"pow_", "pow_", "Tensor_Scalar"},
                                        {"pow_", "pow_", "Tensor_Tensor"}};
  for (const auto& [alias, name, overload] : kOthers) table.emplace(alias, std::pair(name, overload));
  return table;
}

// The overload of the same name, or the one of tensors or numbers that the rows name otherwise.
std::string by_alias(std::string_view name, std::string_view overload) {
  static const auto table = read_aliases();
  const auto [first, last] = table.equal_range(name);
  const std::string of_numbers = "Tensor_" + std::string(overload);
  std::string found;
  for (auto at = first; at != last; ++at) {
    const auto [base, of] = at->second;
    const std::string full = std::string(base) + (of.empty() ? "" : ".") + std::string(of);
    if (!dispatch::find_op_or_null(full)) continue;
    if (of == overload) return full;
    if (overload.empty() || of == of_numbers) found = found.empty() ? full : found;
  }
  return found;
}

}  // namespace

std::string operator_of(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  if (target.substr(0, kPrefix.size()) != kPrefix) return "";
  target.remove_prefix(kPrefix.size());
  const size_t dot = target.find('.');
  if (dot == std::string_view::npos) return "";
  const std::string_view ns = target.substr(0, dot), op = target.substr(dot + 1), name = op.substr(0, op.find('.'));
  std::string_view overload = op.substr(std::min(op.size(), name.size() + 1));
  if (overload == "default") overload = "";
  const std::string full = std::string(name) + (overload.empty() ? "" : ".") + std::string(overload);
  if (ns != "aten") return std::string(ns) + "::" + full;
  if (dispatch::find_op_or_null(full)) return full;
  const std::string other = by_alias(name, overload);
  return other.empty() ? full : other;
}

}  // namespace cresset::graph
