// Files from C++: writes that fail, GGUF, models in several files.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "cresset/cresset.h"
#include "cresset/io/checkpoint.h"
#include "cresset/io/gguf.h"
#include "cresset/io/npy.h"

namespace {

using namespace cresset;
namespace fs = std::filesystem;

const std::string kData = CRESSET_TEST_DATA;

template <class F> std::string message_of(F f) {
  try {
    f();
  } catch (const cresset::Error& e) { return e.what(); }
  return "no error";
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Files : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cresset_files_test_XXXXXX";
    folder = mkdtemp(name);
    path = (folder / "file").string();
  }
  void TearDown() override { fs::remove_all(folder); }
  void write(const std::string& name, const std::string& bytes) { std::ofstream(folder / name, std::ios::binary) << bytes; }

  fs::path folder;
  std::string path;
};

// The limit on the size of files stands for a disk that fills.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    old_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_);
  }

 private:
  rlimit before_;
  void (*old_)(int);
};

TEST_F(Files, AFullDiskLeavesTheOldFile) {
  using Write = std::function<void(const Tensor&)>;
  const std::pair<const char*, Write> writers[] = {
      {"checkpoint", [&](const Tensor& t) { save(t, path); }},
      {"safetensors",
       [&](const Tensor& t) {
         io::save_safetensors({{"a", t}}, path);
       }},
      {"npy", [&](const Tensor& t) { io::save_npy(t, path); }},
      {"npz",
       [&](const Tensor& t) {
         io::save_npz({{"a", t}}, path);
       }},
  };
  for (const auto& [name, write] : writers) {
    write(cresset::arange(3, kFloat));
    const std::string before = [&] {
      std::ifstream file(path, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {});
    }();
    {
      FullDisk full(100'000);
      const std::string message = message_of([&, &write = write] { write(cresset::ones({100'000})); });
      EXPECT_TRUE(contains(message, "too large")) << name << ": " << message;
    }
    std::ifstream file(path, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), before) << name;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1) << name;
  }
}

TEST_F(Files, DamagedStoragesAreRefused) {
  save(cresset::arange(300'000), path);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(1'000'000);
  file.put(9);
  file.close();
  Tensor t;
  EXPECT_TRUE(contains(message_of([&] { load(t, path); }), "checksum of storage"));
}

TEST_F(Files, TheFormatBeforeArchives) {
  const Tensor base = cresset::arange(6, kFloat);
  io::CheckpointWriter writer(true);
  io::Pickler& p = writer.pickler();
  p.op('}');
  p.mark();
  p.text("base");
  writer.tensor(base);
  p.text("part");
  writer.tensor(base.slice(0, 2, 6, 2));
  p.op('u');
  io::write_file_atomically(path, [&](const io::WriteBytes& write) { writer.write_legacy(write); });
  OrderedDict<std::string, Tensor> loaded("Tensor");
  load(loaded, path);
  EXPECT_TRUE(cresset::equal(loaded["base"], base));
  EXPECT_TRUE(cresset::equal(loaded["part"], base.slice(0, 2, 6, 2)));
  EXPECT_EQ(loaded["part"].strides(), IntArrayRef({2}));
  loaded["base"][2].fill_(9);
  EXPECT_EQ(loaded["part"][0].item<float>(), 9);
  io::CheckpointWriter other(true);
  EXPECT_TRUE(contains(message_of([&] { other.tensor(cresset::ones({1}).to(kUInt16)); }), "before zip archives"));
}

TEST_F(Files, GgufBlocks) {
  const io::GgufFile file(kData + "quantised.gguf");
  const io::NamedTensors all = io::load_gguf(kData + "quantised.gguf", true);
  int quantised = 0;
  for (const io::GgufTensor& t : file.tensors()) {
    const Tensor* floats = all.find(t.name + " as floats");
    if (!floats) continue;
    quantised++;
    EXPECT_TRUE(cresset::equal(file.read(t), *floats)) << t.name;
    EXPECT_TRUE(cresset::equal(all[t.name], *floats)) << t.name;
  }
  EXPECT_EQ(quantised, 10);
  EXPECT_EQ(all["half"].scalar_type(), kHalf);
  EXPECT_TRUE(cresset::equal(all["int32"], cresset::arange(6, kInt)));
  std::map<std::string, io::GgufValue> facts(file.metadata().begin(), file.metadata().end());
  EXPECT_EQ(std::get<double>(facts["rate"]), 1.5);
  EXPECT_EQ(std::get<uint64_t>(facts["large"]), uint64_t{1} << 63);
  EXPECT_EQ(std::get<std::vector<std::string>>(facts["texts"]), (std::vector<std::string>{"a", "", "é"}));
  EXPECT_TRUE(cresset::equal(std::get<Tensor>(facts["numbers"]), cresset::tensor({1, -2, 3}).to(kInt)));
}

TEST_F(Files, GgufThatLies) {
  write("file", "GGUF");
  EXPECT_TRUE(contains(message_of([&] { io::load_gguf(path); }), "truncated"));
  write("file", std::string("GGUF\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24));
  EXPECT_TRUE(contains(message_of([&] { io::load_gguf(path); }), "more than fit"));
}

struct TiedImpl : nn::Module {
  TiedImpl() {
    first = register_parameter("first", cresset::ones({2, 3}));
    second = register_parameter("second", first);
    other = register_parameter("other", cresset::zeros({2}));
  }
  Tensor first, second, other;
};
CRESSET_MODULE(Tied);

TEST_F(Files, WeightsUnderSeveralNamesAreWrittenOnce) {
  Tied model;
  io::save_safetensors(*model, path);
  const io::SafetensorsContent content = io::load_safetensors(path);
  EXPECT_EQ(content.tensors.size(), 2u);
  EXPECT_EQ(content.metadata.at("second"), "first");
  Tied again;
  {
    NoGradGuard guard;
    again->first.zero_();
  }
  io::load_safetensors(*again, path);
  EXPECT_TRUE(cresset::equal(again->second, cresset::ones({2, 3})));
  // A file that lacks it without a word is refused.
  io::save_safetensors({{"first", model->first}, {"other", model->other}}, path);
  EXPECT_TRUE(contains(message_of([&] { io::load_safetensors(*again, path); }), "no tensor 'second'"));
}

TEST_F(Files, ModelsInSeveralFiles) {
  io::save_safetensors({{"a", cresset::ones({2})}}, (folder / "1.safetensors").string());
  io::save_safetensors({{"b", cresset::zeros({1})}, {"c", cresset::ones({1})}}, (folder / "2.safetensors").string());
  const std::string index = (folder / "model.safetensors.index.json").string();
  write("model.safetensors.index.json", R"({"weight_map": {"a": "1.safetensors", "c": "2.safetensors"}})");
  for (const bool mapped : {false, true}) {
    const io::SafetensorsContent content = io::load_safetensors(index, mapped);
    EXPECT_EQ(content.tensors.size(), 2u);
    EXPECT_TRUE(cresset::equal(content.tensors["c"], cresset::ones({1})));
    EXPECT_EQ(content.metadata.at("format"), "pt");
  }
  for (const char* file : {"../1.safetensors", "/1.safetensors", "..", "", "model.safetensors.index.json", "nowhere"}) {
    write("model.safetensors.index.json", std::string(R"({"weight_map": {"a": ")") + file + "\"}}");
    EXPECT_NE(message_of([&] { io::load_safetensors(index); }), "no error") << file;
  }
  write("model.safetensors.index.json", R"({"weight_map": {"z": "1.safetensors"}})");
  EXPECT_TRUE(contains(message_of([&] { io::load_safetensors(index); }), "no tensor 'z'"));
}

}  // namespace
