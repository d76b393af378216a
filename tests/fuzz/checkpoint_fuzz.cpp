// Whole checkpoints, in archives and in the formats before them: their storages, their tensors, and what C++ makes of them.

#include "cresset/cresset.h"
#include "cresset/io/checkpoint.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const bool any : {false, true}) {
    fuzz::expect_errors_only([&] {
      io::CheckpointOptions options;
      options.any = options.script = any;
      const io::Checkpoint checkpoint(fuzz::source_of(data, size), options);
      if (any) return;
      std::vector<intrusive_ptr<StorageImpl>> storages(checkpoint.num_storages());
      size_t total = 0;
      for (size_t i = 0; i < storages.size(); i++) {
        storages[i] = checkpoint.read_storage(i);
        total += storages[i]->nbytes();
      }
      if (total > size) std::abort();
      for (const io::TensorRecord& record : checkpoint.document().tensors) {
        fuzz::expect_errors_only([&] {
          const Tensor t = checkpoint.make_tensor(record, [&](uint32_t number) { return storages[number]; });
          if (!t.is_meta() && t.layout() == kStrided && t.numel() > 0 && t.numel() < 4096) fuzz::touch(t.contiguous().data_ptr(), 1);
        });
      }
    });
  }
  fuzz::expect_errors_only([&] {
    serialize::InputArchive archive;
    archive.load_from(reinterpret_cast<const char*>(data), size);
    archive.keys();
  });
  return 0;
}
