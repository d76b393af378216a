// Programs compiled ahead of time: packages give what the programs give, and others are refused.

#include "cresset/graph/codegen/package.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cresset/cresset.h"
#include "cresset/graph/codegen/machine/machine.h"
#include "cresset/io/safetensors.h"
#include "cresset/io/zip.h"
#include "tests/error_of.h"

namespace cresset::graph {
namespace {

namespace fs = std::filesystem;

std::string data(const std::string& name) { return std::string(CRESSET_GRAPH_DATA) + name; }

class Package : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "package.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // The package of a model of the tests' own.
  std::string packaged(const std::string& model, const PackageOptions& options = {}) const {
    write_package(data(model + ".pt2"), path(model + ".pt2"), options);
    return path(model + ".pt2");
  }
  // A copy of an archive with one entry changed.
  std::string changed(const std::string& from, const std::string& entry, const std::function<std::string(std::string)>& change) const {
    const io::FileSource source(from);
    const io::ZipReader archive(source, from);
    std::ofstream out(path("changed.pt2"), std::ios::binary);
    io::ZipWriter writer([&](const void* bytes, size_t size) { out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size)); },
                         archive.folder());
    for (const io::ZipEntry& e : archive.entries()) {
      const std::string name = e.name.substr(archive.folder().size() + 1), content = archive.read(e);
      writer.add(name, name == entry ? change(content) : content);
    }
    writer.finish();
    return path("changed.pt2");
  }

  fs::path folder_;
};

std::vector<Datum> inputs_of(const std::string& model, size_t count) {
  std::map<std::string, Tensor> saved;
  for (const auto& item : io::load_safetensors(data(model + ".safetensors")).tensors) saved[item.key()] = item.value();
  std::vector<Datum> inputs;
  for (size_t i = 0; i < count; i++) inputs.emplace_back(saved.at("input" + std::to_string(i)).clone());
  return inputs;
}

TEST_F(Package, GivesTheBitsOfThePrograms) {
  for (const std::string model : {"block", "conv", "core", "counter", "chains"}) {
    const ExportedProgram plain = load_program(data(model + ".pt2"));
    const CompiledProgram compiled = load_compiled(packaged(model));
    const auto expected = plain.run(inputs_of(model, plain.inputs().size())), found = compiled.run(inputs_of(model, plain.inputs().size()));
    ASSERT_EQ(found.size(), expected.size()) << model;
    for (size_t i = 0; i < found.size(); i++) EXPECT_TRUE(cresset::equal(found[i].to_tensor(), expected[i].to_tensor())) << model << " result " << i;
  }
}

TEST_F(Package, HasItsMachineCodeInTheFile) {
  if (!machine::is_available()) GTEST_SKIP() << "no machine code: LLVM 16 to 19 was not found, or the CPU is not one with AVX2 loops";
  const std::string file = packaged("chains");
  const auto before = machine::counts();
  const CompiledProgram compiled = load_compiled(file);
  const auto after = machine::counts();
  EXPECT_EQ(compiled.num_kernels(), 1U);
  EXPECT_EQ(compiled.isas(), (std::vector<std::string>{"baseline", "avx2", "avx512"}));
  EXPECT_GT(after.packaged, before.packaged);
  EXPECT_EQ(after.made, before.made) << "nothing is compiled when a package is loaded";
  EXPECT_EQ(after.read, before.read) << "nothing is read from the user's cache";
}

TEST_F(Package, KeepsMetadata) {
  PackageOptions options;
  options.isas = {"baseline"};
  options.metadata = {{"author", "someone"}};
  const CompiledProgram compiled = load_compiled(packaged("core", options));
  EXPECT_EQ(compiled.metadata(), options.metadata);
  EXPECT_EQ(compiled.isas(), std::vector<std::string>{"baseline"});
}

TEST_F(Package, CanBePackagedAgain) {
  const std::string file = packaged("core");
  write_package(file, path("again.pt2"));
  EXPECT_EQ(load_compiled(path("again.pt2")).num_kernels(), load_compiled(file).num_kernels());
}

TEST_F(Package, OpensAsAPlainProgramToo) { EXPECT_EQ(load_program(packaged("core")).inputs().size(), load_program(data("core.pt2")).inputs().size()); }

TEST_F(Package, RefusesPlainPrograms) {
  EXPECT_NE(error_of([&] { load_compiled(data("core.pt2")); }).find("expected a package that write_package"), std::string::npos);
}

TEST_F(Package, RefusesNewerOnes) {
  const std::string file = changed(packaged("core"), "data/cresset/manifest.json", [](std::string s) {
    const size_t at = s.find("\"version\":1");
    return s.replace(at, 11, "\"version\":9");
  });
  const std::string error = error_of([&] { load_compiled(file); });
  EXPECT_NE(error.find("of version 9, expected 1"), std::string::npos) << error;
}

TEST_F(Package, RefusesCodeOfAnotherProgram) {
  const std::string file = changed(packaged("core"), "models/model.json", [](std::string s) { return s + " "; });
  const std::string error = error_of([&] { load_compiled(file); });
  EXPECT_NE(error.find("made of another program"), std::string::npos) << error;
}

TEST_F(Package, RefusesAMissingOrDamagedManifest) {
  for (const std::string text : {"", "{}", "[]", "{\"version\":1}", "no JSON"}) {
    const std::string file = changed(packaged("core"), "data/cresset/manifest.json", [&](const std::string&) { return text; });
    EXPECT_NE(error_of([&] { load_compiled(file); }).find("manifest.json"), std::string::npos) << text;
  }
}

TEST_F(Package, RefusesDamagedCode) {
  if (!machine::is_available()) GTEST_SKIP() << "no machine code: LLVM 16 to 19 was not found, or the CPU is not one with AVX2 loops";
  const std::string file = packaged("chains");
  const std::vector<std::function<std::string(std::string)>> damages = {[](std::string s) { return s.substr(0, 10); }, [](std::string s) { return s + "x"; },
                                                                        [](std::string s) {
                                                                          s[s.size() / 2] ^= 1;
                                                                          return s;
                                                                        },
                                                                        [](const std::string&) { return std::string(); }};
  for (const auto& damage : damages) {
    const std::string error = error_of([&] { load_compiled(changed(file, "data/cresset/code/0", damage)); });
    EXPECT_NE(error.find("is no machine code, or is damaged"), std::string::npos) << error;
  }
}

// Every byte of the file is under a checksum, or in a table that is checked.
TEST_F(Package, RefusesFlippedBits) {
  std::ifstream in(packaged("core"), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  size_t refused = 0, tried = 0;
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] ^= 4;
    std::ofstream(path("damaged.pt2"), std::ios::binary) << damaged;
    tried++;
    try {
      const CompiledProgram p = load_compiled(path("damaged.pt2"));
      EXPECT_EQ(p.run(inputs_of("core", p.program().inputs().size())).size(), load_program(data("core.pt2")).graph().block().results().size());
    } catch (const Error&) { refused++; }
  }
  EXPECT_GT(refused, tried * 9 / 10);  // padding and dates are of no matter
}

TEST_F(Package, RefusesUnknownInstructionSets) {
  PackageOptions options;
  options.isas = {"avx3"};
  const std::string error = error_of([&] { packaged("core", options); });
  EXPECT_NE(error.find("no machine code for 'avx3'; expected avx2, avx512 or baseline"), std::string::npos) << error;
  EXPECT_FALSE(fs::exists(path("core.pt2")));
}

}  // namespace
}  // namespace cresset::graph
