// Archives of TorchScript: they are refused, or load.

#include "cresset/graph/script/archive.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_errors_only([&] {
    std::map<std::string, std::string> extra{{"note", ""}};
    graph::script::LoadOptions options;
    options.limits.max_instructions = 100'000;
    options.limits.max_memory = int64_t{64} << 20;
    graph::script::load_archive(std::make_shared<io::MemorySource>(data, size), "fuzz", options, &extra);
  });
  return 0;
}
