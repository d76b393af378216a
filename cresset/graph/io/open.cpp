#include "cresset/graph/io/open.h"

#include "cresset/graph/io/pt2.h"
#include "cresset/io/zip.h"

namespace cresset::graph {

Module open_module(const std::string& path) {
  const io::FileSource source(path);
  if (io::ZipReader::looks_like_zip(source)) {
    LoadOptions options;
    options.allow_foreign = true;
    Module m;
    m.graphs.push_back(load_program(path, options).graph().clone());
    return m;
  }
  constexpr uint64_t kMostText = uint64_t{1} << 30;
  CRESSET_CHECK_VALUE(source.size() <= kMostText, "open_module: '", path, "': expected at most ", kMostText, " bytes of text, got ", source.size());
  std::string text(source.size(), '\0');
  source.read(0, text.data(), text.size());
  ParseOptions options;
  options.allow_foreign = true;
  return parse_module(text, options);
}

}  // namespace cresset::graph
