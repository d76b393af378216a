// Text of help() for operators, from the rows.

#include "python/bind/op.h"

#include <algorithm>
#include <cstring>

namespace cresset::python {

namespace {

struct OperatorDoc {
  const char *name, *signatures;
  int body;
};
#include "cresset/ops/python_docs.inc"

}  // namespace

std::string operator_doc(const std::string& name) {
  const auto* end = std::end(kOperatorDocs);
  const auto* found = std::lower_bound(std::begin(kOperatorDocs), end, name.c_str(), [](const OperatorDoc& d, const char* n) { return strcmp(d.name, n) < 0; });
  if (found == end || name != found->name) return name;
  return std::string(found->signatures) + "\n\n" + kBodies[found->body];
}

}  // namespace cresset::python
