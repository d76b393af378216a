#include "cresset/profile/flops.h"

#include <map>
#include <numeric>
#include <string_view>

namespace cresset::profile {

namespace {

using dispatch::Stack;
using dispatch::Value;

// The arguments of the call that lie on the stack.
struct Arguments {
  const Stack& stack;
  size_t first;
  const Tensor* tensor(size_t i) const {
    const size_t at = first + i;
    return at < stack.size() && stack[at].is_tensor() && stack[at].to_tensor().defined() ? &stack[at].to_tensor() : nullptr;
  }
};

// a times b over the last two dimensions, for each matrix of the batch.
int64_t product(const Tensor* a, const Tensor* b) {
  if (!a || !b || a->dim() < 2 || b->dim() < 2) return 0;
  return 2 * a->numel() * b->size(-1);
}

int64_t elements(const Arguments& given) { return given.tensor(0) ? given.tensor(0)->numel() : 0; }

// Each element of the result is a dot product of the length of a filter.
int64_t conv2d(const Arguments& given) {
  const Tensor *input = given.tensor(0), *weight = given.tensor(1);
  if (!input || !weight || input->dim() != 4 || weight->dim() != 4) return 0;
  const auto list = [&](size_t i, int64_t otherwise) {
    const Value& v = given.stack[given.first + i];
    std::vector<int64_t> values = v.is<std::vector<int64_t>>() ? v.to_int_list() : std::vector<int64_t>();
    if (values.size() == 1) values.push_back(values[0]);
    return values.size() == 2 ? values : std::vector<int64_t>(2, otherwise);
  };
  const auto stride = list(3, 1), padding = list(4, 0), dilation = list(5, 1);
  int64_t places = input->size(0) * weight->size(0);
  for (size_t d = 0; d < 2; d++) {
    const int64_t k = static_cast<int64_t>(d) + 2;
    places *= (input->size(k) + 2 * padding[d] - dilation[d] * (weight->size(k) - 1) - 1) / stride[d] + 1;
  }
  return 2 * places * weight->size(1) * weight->size(2) * weight->size(3);
}

using Count = int64_t (*)(const Arguments&);

}  // namespace

int64_t flops_of(const dispatch::OpEntry& op, const Stack& stack) {
  static const std::map<std::string_view, Count> counts = {
      {"mm", [](const Arguments& g) { return product(g.tensor(0), g.tensor(1)); }},
      {"bmm", [](const Arguments& g) { return product(g.tensor(0), g.tensor(1)); }},
      {"addmm", [](const Arguments& g) { return product(g.tensor(1), g.tensor(2)); }},
      {"baddbmm", [](const Arguments& g) { return product(g.tensor(1), g.tensor(2)); }},
      {"conv2d", conv2d},
      {"add", elements},
      {"mul", elements},
  };
  const dispatch::FunctionSchema& schema = op.function_schema();
  if (schema.ns != "cresset") return 0;
  const auto found = counts.find(schema.name);
  return found == counts.end() ? 0 : found->second({stack, stack.size() - schema.arguments.size()});
}

}  // namespace cresset::profile
