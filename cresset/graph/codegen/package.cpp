#include "cresset/graph/codegen/package.h"

#include "cresset/autograd/grad_mode.h"
#include "cresset/graph/codegen/fuse.h"
#include "cresset/graph/codegen/machine/cache.h"
#include "cresset/graph/codegen/machine/machine.h"
#include "cresset/graph/io/json.h"
#include "cresset/io/file.h"
#include "cresset/io/zip.h"

namespace cresset::graph {

namespace {

using Json = nlohmann::json;

constexpr const char* kManifest = "data/cresset/manifest.json";
constexpr std::string_view kFolder = "data/cresset/", kCode = "data/cresset/code/";
// The number changes with what a package holds.
constexpr int64_t kVersion = 1;

// Name, and checksum of what it was compiled from.
const io::ZipEntry& model_of(const io::ZipReader& archive) {
  for (const io::ZipEntry& e : archive.entries())
    if (e.name.find("/models/") != std::string::npos) return e;
  throw ValueError("the archive has no model");
}

std::vector<std::string> isas_of(const PackageOptions& options) {
  if (!options.isas.empty() || !machine::is_available()) return options.isas;
  return {machine::name_of(machine::Isa::Avx2), machine::name_of(machine::Isa::Avx512)};
}

machine::Portable code_of(const ExportedProgram& program, const PackageOptions& options) {
  machine::Portable code;
  for (const std::string& name : isas_of(options)) {
    const auto isa = machine::isa_of(name);
    if (!isa) continue;
    const auto graph = program.graph().clone();
    machine::Asked asked(*isa);
    fuse(*graph).prepare();
    for (const machine::Program& p : asked.programs) machine::add_portable(p, code);
  }
  return code;
}

Json manifest_of(const io::ZipReader& archive, const PackageOptions& options, size_t programs) {
  Json isas = Json::array({"baseline"});
  if (!options.isas.empty() || programs)
    for (const std::string& isa : isas_of(options))
      if (isa != "baseline") isas.push_back(isa);
  return {{"version", kVersion}, {"isas", isas}, {"programs", programs}, {"model", model_of(archive).crc}, {"metadata", options.metadata}};
}

template <class F> auto within(const std::string& what, F&& body) {
  try {
    return body();
  } catch (Error& e) {
    e.add_context(what);
    throw;
  }
}

struct Manifest {
  std::vector<std::string> isas;
  std::map<std::string, std::string> metadata;
  int64_t programs = 0;
};
Manifest read_manifest(const io::ZipReader& archive) {
  const io::ZipEntry* entry = archive.find(kManifest);
  CRESSET_CHECK_VALUE(entry, "expected a package that write_package or aoti_compile_and_package wrote, got an archive without '", kManifest,
                      "'; a program that torch.export.save wrote is compiled by these, or opened by load_program");
  Json document;
  try {
    document = Json::parse(archive.read(*entry));
  } catch (const Json::exception& e) { throw ValueError(str(kManifest, ": expected JSON, ", e.what())); }
  const Field root(document, kManifest);
  const int64_t version = root.at("version").integer();
  CRESSET_CHECK_VALUE(version == kVersion, "the package is of version ", version, ", expected ", kVersion,
                      ": another version of the library wrote it, compile it again");
  CRESSET_CHECK_VALUE(root.at("model").integer() == static_cast<int64_t>(model_of(archive).crc), "the code in the package was made of another program");
  Manifest manifest;
  manifest.programs = root.at("programs").integer();
  root.at("isas").each([&](const Field& f) { manifest.isas.push_back(f.text()); });
  root.at("metadata").each_named([&](const std::string& key, const Field& f) { manifest.metadata[key] = f.text(); });
  return manifest;
}

machine::Portable read_code(const io::ZipReader& archive, int64_t expected) {
  machine::Portable code;
  for (const io::ZipEntry& e : archive.entries()) {
    if (archive.inside(e).substr(0, kCode.size()) != kCode) continue;
    auto found = machine::opened(archive.read(e));
    CRESSET_CHECK_VALUE(found, "the entry '", e.name, "' is no machine code, or is damaged");
    code.insert(std::move(*found));
  }
  CRESSET_CHECK_VALUE(static_cast<int64_t>(code.size()) == expected, "expected the code of ", expected, " programs, got ", code.size());
  return code;
}

}  // namespace

void write_package(const std::string& program, const std::string& package, const PackageOptions& options) {
  for (const std::string& isa : options.isas)
    CRESSET_CHECK_VALUE(isa == "baseline" || machine::isa_of(isa), "write_package: there is no machine code for '", isa,
                        "'; expected avx2, avx512 or baseline");
  const machine::Portable code = code_of(load_program(program), options);
  within("write_package: '" + program + "'", [&] {
    const io::FileSource source(program);
    const io::ZipReader archive(source, program);
    io::write_file_atomically(package, [&](const io::WriteBytes& write) {
      io::ZipWriter out(write, archive.folder());
      for (const io::ZipEntry& e : archive.entries()) {
        const std::string_view name = archive.inside(e);
        if (name.empty() || name.substr(0, kFolder.size()) == kFolder) continue;  // of a package that is compiled anew
        const std::string content = archive.read(e, true);
        out.add(name, content);
      }
      out.add(kManifest, manifest_of(archive, options, code.size()).dump());
      size_t number = 0;
      for (const auto& [key, image] : code) out.add(std::string(kCode) + std::to_string(number++), machine::sealed(key, image));
      out.finish();
    });
  });
}

std::vector<Datum> CompiledProgram::run(std::vector<Datum> inputs) const {
  const autograd::AutoGradMode off(false);
  return program_.run(std::move(inputs));
}
size_t CompiledProgram::num_kernels() const { return kernels_->size(); }

CompiledProgram load_compiled(const std::string& path, const LoadCompiledOptions& options) {
  CompiledProgram compiled;
  machine::Portable code = within("load_compiled: '" + path + "'", [&] {
    const io::FileSource source(path);
    const io::ZipReader archive(source, path);
    Manifest manifest = read_manifest(archive);
    for (const io::ZipEntry& e : archive.entries()) archive.read(e, true);
    compiled.metadata_ = std::move(manifest.metadata);
    compiled.isas_ = std::move(manifest.isas);
    return options.machine_code ? read_code(archive, manifest.programs) : machine::Portable();
  });
  const ExportedProgram program = load_program(path);
  compiled.code_ = std::make_shared<const machine::Package>(std::move(code));
  std::shared_ptr<Graph> graph = program.graph().clone();
  Kernels kernels = fuse(*graph);
  if (options.machine_code) kernels.prepare();
  compiled.kernels_ = std::make_shared<const Kernels>(std::move(kernels));
  compiled.program_ = program.with_graph(std::move(graph), options.program);
  return compiled;
}

}  // namespace cresset::graph
