#include "cresset/profile/flops.h"

#include <map>

namespace cresset::profile {

namespace {

const Fact* tensor(const Facts& given, size_t i) { return i < given.size() && given[i].kind == Fact::kTensor ? &given[i] : nullptr; }
int64_t numel(const Fact& t) {
  int64_t n = 1;
  for (const int64_t size : t.sizes) n *= size;
  return n;
}

// a times b over the last two dimensions, for each matrix of the batch.
int64_t product(const Fact* a, const Fact* b) { return !a || !b || a->sizes.size() < 2 || b->sizes.size() < 2 ? 0 : 2 * numel(*a) * b->sizes.back(); }

int64_t elements(const Facts& given) { return tensor(given, 0) ? numel(given[0]) : 0; }

// Each element of the result is a dot product of the length of a filter.
int64_t conv2d(const Facts& given) {
  const Fact *input = tensor(given, 0), *weight = tensor(given, 1);
  if (!input || !weight || input->sizes.size() != 4 || weight->sizes.size() != 4) return 0;
  const auto at = [&](size_t i, size_t d, int64_t otherwise) {
    if (i >= given.size() || given[i].kind != Fact::kSizes || given[i].sizes.empty()) return otherwise;
    return given[i].sizes[given[i].sizes.size() == 1 ? 0 : d];
  };
  int64_t places = input->sizes[0] * weight->sizes[0];
  for (size_t d = 0; d < 2; d++) places *= (input->sizes[d + 2] + 2 * at(4, d, 0) - at(5, d, 1) * (weight->sizes[d + 2] - 1) - 1) / at(3, d, 1) + 1;
  return 2 * places * weight->sizes[1] * weight->sizes[2] * weight->sizes[3];
}

using Count = int64_t (*)(const Facts&);

Count count_of(std::string_view name) {
  static const std::map<std::string_view, Count> counts = {
      {"mm", [](const Facts& g) { return product(tensor(g, 0), tensor(g, 1)); }},
      {"bmm", [](const Facts& g) { return product(tensor(g, 0), tensor(g, 1)); }},
      {"addmm", [](const Facts& g) { return product(tensor(g, 1), tensor(g, 2)); }},
      {"baddbmm", [](const Facts& g) { return product(tensor(g, 1), tensor(g, 2)); }},
      {"conv2d", conv2d},
      {"add", elements},
      {"mul", elements},
  };
  const auto found = counts.find(name);
  return found == counts.end() ? nullptr : found->second;
}

}  // namespace

int64_t flops_of(std::string_view name, const Facts& arguments) {
  const Count count = count_of(name);
  return count ? count(arguments) : 0;
}
bool counts_flops(const dispatch::OpEntry& op) {
  const dispatch::FunctionSchema& schema = op.function_schema();
  return schema.ns == "cresset" && count_of(schema.name);
}

}  // namespace cresset::profile
