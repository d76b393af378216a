// Safetensors files: round trips, the bytes themselves, and every way in which a file can be wrong.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "cresset/cresset.h"

namespace {

using namespace cresset;

template <class F> std::string message_of(F f) {
  try {
    f();
  } catch (const cresset::Error& e) { return e.what(); }
  return "no error";
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct TemporaryPath {
  TemporaryPath() {
    char name[] = "/tmp/cresset_io_test_XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/file.safetensors";
  }
  ~TemporaryPath() {
    std::remove(path.c_str());
    rmdir(folder.c_str());
  }
  std::string folder, path;
};

std::string file_of(const std::string& header, const std::string& data) {
  uint64_t length = header.size();
  std::string bytes(8, 0);
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}
std::string parse_message(const std::string& bytes) {
  return message_of([&] { io::parse_safetensors(bytes.data(), bytes.size(), "f"); });
}

TEST(Safetensors, RoundTripsEveryDtype) {
  TemporaryPath file;
  io::NamedTensors tensors;
  for (ScalarType t : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble, kComplexFloat, kUInt16, kUInt32, kUInt64})
    tensors.insert(std::string("of ") + toString(t), (cresset::arange(7, kInt) - (t == kByte || t == kBool ? 0 : 2)).to(kFloat).abs().to(t));
  tensors.insert("scalar", cresset::full({}, 2.5));
  tensors.insert("none", cresset::zeros({3, 0, 2}));
  tensors.insert("turned", cresset::arange(6, kFloat).view({2, 3}).t());
  io::save_safetensors(tensors, file.path, {{"note", "tëxt \"quoted\""}});
  for (bool use_mmap : {false, true}) {
    const auto content = io::load_safetensors(file.path, use_mmap);
    EXPECT_EQ(content.metadata.at("note"), "tëxt \"quoted\"");
    ASSERT_EQ(content.tensors.size(), tensors.size());
    for (const auto& item : tensors) {
      const Tensor& got = content.tensors[item.key()];
      EXPECT_EQ(got.scalar_type(), item.value().scalar_type()) << item.key();
      EXPECT_EQ(got.sizes(), item.value().sizes()) << item.key();
      EXPECT_TRUE(equal(got, item.value())) << item.key();
    }
  }
}

TEST(Safetensors, WritesTheDocumentedLayout) {
  io::NamedTensors tensors;
  tensors.insert("a", cresset::full({2}, static_cast<int64_t>(1), kByte));
  tensors.insert("b", cresset::full({1}, 1.0));
  std::string bytes;
  io::write_safetensors(tensors, {}, [&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); });
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 6);
  const std::string header = bytes.substr(8, length);
  EXPECT_TRUE(contains(header, R"("b":{"data_offsets":[0,4],"dtype":"F32","shape":[1]})")) << header;
  EXPECT_TRUE(contains(header, R"("a":{"data_offsets":[4,6],"dtype":"U8","shape":[2]})")) << header;
  EXPECT_EQ(bytes.substr(8 + length + 4), std::string("\1\1"));
}

TEST(Safetensors, MappedTensorsMayBeWrittenWithoutTouchingTheFile) {
  TemporaryPath file;
  io::NamedTensors tensors;
  tensors.insert("a", cresset::ones({1000}));
  io::save_safetensors(tensors, file.path);
  {
    Tensor a = io::load_safetensors(file.path, true).tensors["a"];
    a.fill_(5);
    EXPECT_EQ(a.sum().item<float>(), 5000.0f);
  }
  EXPECT_EQ(io::load_safetensors(file.path).tensors["a"].sum().item<float>(), 1000.0f);
}

TEST(Safetensors, ModulesByTheirNames) {
  TemporaryPath file;
  nn::Sequential net({{"fc", nn::Linear(3, 2)}, {"norm", nn::BatchNorm1d(2)}});
  nn::Sequential other({{"fc", nn::Linear(3, 2)}, {"norm", nn::BatchNorm1d(2)}});
  io::save_safetensors(*net, file.path);
  EXPECT_EQ(io::load_safetensors(file.path).tensors.size(), 7u);
  io::load_safetensors(*other, file.path);
  EXPECT_TRUE(equal(net->named_parameters()["fc.weight"], other->named_parameters()["fc.weight"]));
  nn::Sequential larger({{"fc", nn::Linear(3, 2)}, {"norm", nn::BatchNorm1d(2)}, {"more", nn::Linear(2, 2)}});
  EXPECT_TRUE(contains(message_of([&] { io::load_safetensors(*larger, file.path); }), "no tensor 'more.weight'"));
  io::load_safetensors(*larger, file.path, false);
  nn::Sequential smaller({{"fc", nn::Linear(3, 2)}});
  EXPECT_TRUE(contains(message_of([&] { io::load_safetensors(*smaller, file.path); }), "that the module has not"));
  nn::Sequential wider({{"fc", nn::Linear(4, 2)}, {"norm", nn::BatchNorm1d(2)}});
  EXPECT_TRUE(contains(message_of([&] { io::load_safetensors(*wider, file.path); }), "got [2, 3], expected [2, 4]"));
}

TEST(Safetensors, ReplacesTheFileInOneStep) {
  TemporaryPath file;
  io::NamedTensors good, bad;
  good.insert("a", cresset::ones({3}));
  bad.insert("a", cresset::ones({3}));
  bad.insert("b", cresset::ones({3}, kComplexDouble));
  io::save_safetensors(good, file.path);
  EXPECT_THROW(io::save_safetensors(bad, file.path), cresset::TypeError);
  EXPECT_EQ(io::load_safetensors(file.path).tensors.size(), 1u);
  // Nothing else is left in the folder.
  std::remove(file.path.c_str());
  EXPECT_EQ(rmdir(file.folder.c_str()), 0);
}

TEST(Safetensors, KeepsTheRightsOfTheFileItReplaces) {
  TemporaryPath file;
  io::NamedTensors tensors;
  tensors.insert("a", cresset::ones({3}));
  io::save_safetensors(tensors, file.path);
  chmod(file.path.c_str(), 0640);
  io::save_safetensors(tensors, file.path);
  struct stat info;
  stat(file.path.c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST(Safetensors, NamesFilesThatAreNotThere) {
  EXPECT_TRUE(contains(message_of([] { io::load_safetensors("/nowhere/x.safetensors"); }), "'/nowhere/x.safetensors'"));
  EXPECT_TRUE(contains(message_of([] { io::load_safetensors("/tmp"); }), "'/tmp' is not a regular file"));
  io::NamedTensors tensors;
  EXPECT_TRUE(contains(message_of([&] { io::save_safetensors(tensors, "/nowhere/x.safetensors"); }), "/nowhere/x.safetensors"));
}

TEST(Safetensors, RefusesWhatIsMalformed) {
  const std::string entry = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string data(8, 0);
  EXPECT_EQ(parse_message(file_of("{" + entry + "}", data)), "no error");
  EXPECT_TRUE(contains(parse_message(""), "truncated"));
  EXPECT_TRUE(contains(parse_message("1234567"), "truncated, got 7 bytes"));
  EXPECT_TRUE(contains(parse_message(file_of("{" + entry + "}", data).substr(0, 20)), "truncated within the header"));
  EXPECT_TRUE(contains(parse_message(std::string(8, '\xff') + "{}"), "at most 100000000 are allowed"));
  EXPECT_TRUE(contains(parse_message(file_of("{" + entry, data)), "not JSON"));
  EXPECT_TRUE(contains(parse_message(file_of("[1]", "")), "not a JSON object"));
  EXPECT_TRUE(contains(parse_message(file_of("{" + entry + "," + entry + "}", data)), "appears twice"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":{"dtype":"F32","shape":[9],"shape":[2],"data_offsets":[0,8]}})", data)), "'shape' appears twice"));
  EXPECT_TRUE(contains(parse_message(file_of("{" + entry + "}", data.substr(1))), "truncated, got 7 bytes of data, expected 8"));
  EXPECT_TRUE(contains(parse_message(file_of("{" + entry + "}", data + "x")), "1 bytes behind the data"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", data)), "unknown dtype 'F99'"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", data)), "has 8 bytes, its dtype and shape need 12"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", data)), "not negative"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", data)), "whole numbers"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", data)), "run backwards"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", data)), "data_offsets"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", data)), "must have dtype"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"a":7})", "")), "must have dtype"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"__metadata__":{"a":1}})", "")), "__metadata__ 'a' is not text"));
  EXPECT_TRUE(contains(parse_message(file_of(R"({"__metadata__":[]})", "")), "not an object"));
  const std::string huge = R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})";
  EXPECT_TRUE(contains(parse_message(file_of(huge, "")), "too large"));
  const std::string gap = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})";
  EXPECT_TRUE(contains(parse_message(file_of(gap, "12345")), "starts at 3, expected 2"));
  const std::string overlap = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})";
  EXPECT_TRUE(contains(parse_message(file_of(overlap, "123")), "starts at 1, expected 2"));
}

// Every prefix and every damaged byte of a small file is either read or refused with an Error, never worse.
TEST(Safetensors, SurvivesDamage) {
  io::NamedTensors tensors;
  tensors.insert("a", cresset::ones({2}));
  tensors.insert("b", cresset::ones({1, 2}, kHalf));
  std::string bytes;
  io::write_safetensors(tensors, {{"k", "v"}}, [&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); });
  for (size_t n = 0; n < bytes.size(); n++) EXPECT_NE(parse_message(bytes.substr(0, n)), "no error") << n;
  for (size_t i = 0; i < bytes.size(); i++) {
    for (int bit = 0; bit < 8; bit++) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      parse_message(damaged);
    }
  }
}

TEST(Save, TensorsAndLists) {
  std::stringstream one, many;
  const Tensor t = cresset::arange(4, kFloat);
  save(t, one);
  Tensor back;
  load(back, one);
  EXPECT_TRUE(equal(t, back));
  save(std::vector<Tensor>{t, t + 1}, many);
  std::vector<Tensor> list;
  load(list, many);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(equal(list[1], t + 1));
}

TEST(Save, FilesByName) {
  TemporaryPath file;
  nn::Linear linear(2, 2), other(2, 2);
  save(linear, file.path);
  load(other, file.path);
  EXPECT_TRUE(equal(linear->weight, other->weight));
  // A safetensors file with the same names will do too.
  io::save_safetensors(*linear, file.path);
  {
    NoGradGuard guard;
    other->weight.zero_();
  }
  load(other, file.path);
  EXPECT_TRUE(equal(linear->weight, other->weight));
  EXPECT_TRUE(contains(message_of([&] { load(other, "/nowhere/a.pt"); }), "/nowhere/a.pt"));
}

TEST(Archive, ValuesKeepTheirKinds) {
  serialize::OutputArchive out;
  serialize::OutputArchive nested;
  nested.write("list", serialize::ArchiveValue(std::vector<int64_t>{1, -2}));
  out.write("inner", nested);
  out.write("number", serialize::ArchiveValue(0.1));
  out.write("flag", serialize::ArchiveValue(true));
  out.write("text", serialize::ArchiveValue("a: b"));
  out.write("reals", serialize::ArchiveValue(std::vector<double>{0.1, 2}));
  std::stringstream file;
  out.save_to(file);
  serialize::InputArchive in, inner;
  in.load_from(file);
  serialize::ArchiveValue value;
  in.read("number", value);
  EXPECT_EQ(value.to_double(), 0.1);
  EXPECT_THROW(value.to_int(), cresset::TypeError);
  in.read("flag", value);
  EXPECT_TRUE(value.to_bool());
  in.read("text", value);
  EXPECT_EQ(value.to_string(), "a: b");
  in.read("reals", value);
  EXPECT_EQ(value.to_double_list(), (std::vector<double>{0.1, 2}));
  in.read("inner", inner);
  inner.read("list", value);
  EXPECT_EQ(value.to_int_list(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(inner.keys(), (std::vector<std::string>{"list"}));
  EXPECT_THROW(in.read("missing", value), cresset::Error);
  EXPECT_FALSE(in.try_read("missing", value));
}

TEST(Archive, RefusesAKeyTwice) {
  serialize::OutputArchive out;
  out.write("a", cresset::ones({1}));
  EXPECT_THROW(out.write("a", cresset::ones({1})), cresset::Error);
}

}  // namespace
