// Pickles by the reader of data, as `torch.load` uses it, and as `inspect` does, which goes on where that one refuses.

#include "cresset/io/pickle.h"
#include "tests/fuzz/fuzz.h"

using namespace cresset;

namespace {

void check(const io::Document& d) {
  for (const io::Node& n : d.nodes) {
    fuzz::touch(n.text.data(), n.text.size());
    if (n.kind == io::Kind::Tensor && n.place >= d.tensors.size()) std::abort();
    if (n.kind == io::Kind::Storage && n.place >= d.storages.size()) std::abort();
  }
  for (const io::TensorRecord& t : d.tensors) {
    if (t.layout != io::kNoNode) continue;
    const auto sizes = d.integers(t.sizes), strides = d.integers(t.strides);
    if (sizes.size() != strides.size()) std::abort();
    if (t.storage == io::kNoNode) continue;
    // Every element lies within the storage.
    unsigned __int128 last = static_cast<uint64_t>(t.offset);
    bool empty = false;
    for (size_t i = 0; i < sizes.size(); i++) {
      if (sizes[i] < 0 || strides[i] < 0) std::abort();
      empty = empty || sizes[i] == 0;
      if (sizes[i] > 0) last += static_cast<unsigned __int128>(sizes[i] - 1) * static_cast<uint64_t>(strides[i]);
    }
    if (!empty && (last + 1) * element_size(t.dtype) > d.storages[t.storage].nbytes) std::abort();
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const bool any : {false, true}) {
    io::UnpickleOptions options;
    options.any = options.script = any;
    fuzz::expect_errors_only([&] {
      io::Document document;
      std::string_view rest(reinterpret_cast<const char*>(data), size);
      io::unpickle(document, rest, options);
      if (rest.size() > size) std::abort();
      check(document);
    });
  }
  return 0;
}
