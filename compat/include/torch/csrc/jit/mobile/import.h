#pragma once
// Modules from files of the lite interpreter.

#include "torch/csrc/jit/mobile/module.h"

namespace torch::jit {

// Errors: the file is damaged, has no bytecode or a later version of it, or calls operators that are lacking.
inline mobile::Module _load_for_mobile(std::istream& in, std::optional<at::Device> device, ExtraFilesMap& extra) {
  namespace script = cresset::graph::script;
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto source = std::make_shared<cresset::io::MemorySource>(bytes.data(), bytes.size());
  std::map<std::string, std::string> files(extra.begin(), extra.end());
  script::LoadOptions options;
  options.device = device;
  Module module(script::load_lite(source, "<stream>", options, &files));
  for (auto& [name, content] : files) extra[name] = content;
  return mobile::Module(std::move(module), script::lite_facts(*source, "<stream>").version);
}
inline mobile::Module _load_for_mobile(const std::string& path, std::optional<at::Device> device, ExtraFilesMap& extra) {
  std::ifstream in(path, std::ios::binary);
  TORCH_CHECK(in.good(), "_load_for_mobile: cannot open the file '", path, "'");
  return _load_for_mobile(in, device, extra);
}
inline mobile::Module _load_for_mobile(std::istream& in, std::optional<at::Device> device = {}) {
  ExtraFilesMap none;
  return _load_for_mobile(in, device, none);
}
inline mobile::Module _load_for_mobile(const std::string& path, std::optional<at::Device> device = {}) {
  ExtraFilesMap none;
  return _load_for_mobile(path, device, none);
}

}  // namespace torch::jit
