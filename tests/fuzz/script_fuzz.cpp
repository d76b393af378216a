// Texts of TorchScript: they are refused, or compile to code that compiles.

#include "cresset/graph/script/print.h"
#include "cresset/graph/script/unit.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_errors_only([&] {
    const auto unit = std::make_shared<graph::script::CompilationUnit>();
    unit->define_text({reinterpret_cast<const char*>(data), size}, nullptr);
    graph::script::Referred referred;
    for (const auto& [name, f] : unit->functions) graph::script::code_of(*f, referred, false);
  });
  return 0;
}
