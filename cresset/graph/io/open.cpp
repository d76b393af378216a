#include "cresset/graph/io/open.h"

#include "cresset/graph/io/pt2.h"
#include "cresset/graph/ir/names.h"
#include "cresset/io/zip.h"

namespace cresset::graph {

namespace {

// A graph for each program; of several, each with the program's name.
Module programs(const std::string& path) {
  Module m;
  LoadOptions options;
  options.allow_foreign = true;
  const std::vector<std::string> models = models_of(path);
  CRESSET_CHECK_VALUE(!models.empty(), "open_module: '", path, "': the archive has no model");
  for (const std::string& model : models) {
    options.model = model;
    m.graphs.push_back(load_program(path, options).graph().clone());
    if (models.size() == 1) continue;
    std::string name = model;
    for (char& c : name)
      if (!is_name_char(c)) c = '_';
    while (m.find(name)) name += '_';
    m.graphs.back()->set_name(name);
  }
  return m;
}

}  // namespace

Module open_module(const std::string& path) {
  const io::FileSource source(path);
  if (io::ZipReader::looks_like_zip(source)) return programs(path);
  constexpr uint64_t kMostText = uint64_t{1} << 30;
  CRESSET_CHECK_VALUE(source.size() <= kMostText, "open_module: '", path, "': expected at most ", kMostText, " bytes of text, got ", source.size());
  std::string text(source.size(), '\0');
  source.read(0, text.data(), text.size());
  ParseOptions options;
  options.allow_foreign = true;
  return parse_module(text, options);
}

}  // namespace cresset::graph
