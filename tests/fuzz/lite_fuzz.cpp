// Files of the lite interpreter: they are refused, or load and run.

#include "cresset/graph/script/lite/lite.h"
#include "cresset/graph/script/module.h"
#include "cresset/ops/functions.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_errors_only([&] {
    graph::script::LoadOptions options;
    options.limits.max_instructions = 10'000;
    options.limits.max_memory = int64_t{64} << 20;
    options.limits.max_calls = 50;
    const graph::script::Module module(graph::script::load_lite(std::make_shared<io::MemorySource>(data, size), "fuzz", options));
    for (const graph::script::Method& method : module.get_methods()) {
      std::vector<graph::Datum> arguments;
      for (size_t i = 1; i < method.num_inputs(); i++) arguments.push_back(i == 1 ? graph::Datum(ones({1, 2})) : graph::Datum(int64_t{3}));
      fuzz::expect_errors_only([&] { method(arguments); });
    }
  });
  return 0;
}
