// The text of graphs: it is refused, or reads back as it prints.

#include "cresset/graph/ir/graph.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_errors_only([&] {
    const graph::Module m = graph::parse_module({reinterpret_cast<const char*>(data), size});
    const std::string text = m.text();
    if (graph::parse_module(text).text() != text) std::abort();
  });
  return 0;
}
