// Programs that torch.export.save wrote: the archive, its JSON, its weights; programs are not run.

#include "cresset/graph/io/pt2.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_errors_only([&] {
    graph::LoadOptions options;
    options.allow_foreign = true;
    const graph::ExportedProgram program = graph::load_program_from_memory(data, size, options);
    program.graph().text();
    for (const auto& [name, t] : program.state())
      if (t.numel() > 0 && t.numel() < 4096) fuzz::touch(t.contiguous().data_ptr(), t.contiguous().nbytes());
  });
  return 0;
}
