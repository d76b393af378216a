// Archives of TorchScript: they are refused, or load.

#include "cresset/graph/script/archive.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_errors_only([&] {
    std::map<std::string, std::string> extra{{"note", ""}};
    graph::script::load_archive(std::make_shared<io::MemorySource>(data, size), "fuzz", {}, &extra);
  });
  return 0;
}
