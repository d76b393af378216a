// Files of events: their frame byte by byte, and the fields of what each method writes.

#include "cresset/train/summary_writer.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cresset/cresset.h"
#include "cresset/io/image.h"
#include "error_of.h"

using namespace cresset;
using train::SummaryWriter;

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

class Writer : public ::testing::Test {
 protected:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("cresset_events_" + std::to_string(getpid()));
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The events of the only file in a folder; lengths are checked.
  static std::vector<std::string> events(const std::filesystem::path& folder) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename().string().find("tfevents") == std::string::npos) continue;
      const std::string data = content_of(entry.path());
      size_t at = 0;
      while (at < data.size()) {
        uint64_t length;
        std::memcpy(&length, data.data() + at, 8);
        EXPECT_LE(at + 16 + length, data.size());
        found.push_back(data.substr(at + 12, length));
        at += 16 + length;
      }
      EXPECT_EQ(at, data.size());
    }
    return found;
  }
  // The fields after the time, which is the first.
  static std::string behind_time(const std::string& event) { return event.substr(9); }
};

TEST_F(Writer, checksums_are_castagnolis) {
  // The first event has 24 bytes; this is the masked checksum of that length.
  SummaryWriter writer(folder_.string());
  writer.close();
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string data = content_of(entry.path());
    ASSERT_EQ(data.size(), 16u + 24u);
    uint32_t crc;
    std::memcpy(&crc, data.data() + 8, 4);
    EXPECT_EQ(crc, 0x224B7FA3u);
  }
}

TEST_F(Writer, scalars) {
  SummaryWriter writer(folder_.string());
  writer.add_scalar("loss", 0.5, 3);
  writer.flush();
  const auto found = events(folder_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(behind_time(found[0]), std::string("\x1a\x0d") + "brain.Event:2");
  const std::string value("\x0a\x04loss\x15\x00\x00\x00\x3f", 11);
  EXPECT_EQ(behind_time(found[1]), std::string("\x10\x03\x2a\x0d\x0a\x0b") + value);
  writer.add_scalars("both", {{"a", 1.0}, {"b", 2.0}}, 1);
  writer.close();
  EXPECT_EQ(events(folder_ / "both_a").size(), 2u);
  EXPECT_NE(error_of([&] { writer.add_scalar("loss", 1); }).find("closed"), std::string::npos);
}

TEST_F(Writer, histograms_count_every_value) {
  SummaryWriter writer(folder_.string());
  writer.add_histogram("h", tensor({-1.0, 0.0, 0.25, 0.25, 8.0}), 1);
  writer.close();
  const std::string event = events(folder_).at(1);
  const size_t at = event.find("\x0a\x01h\x2a");
  ASSERT_NE(at, std::string::npos);
  // min, max, num, sum, sum of squares, each behind its tag.
  const size_t fields = event.find(std::string("\x09\x00\x00\x00\x00\x00\x00\xf0\xbf\x11", 10), at);
  ASSERT_NE(fields, std::string::npos);
  const double expected[] = {-1, 8, 5, 7.5, 65.125};
  for (int i = 0; i < 5; i++) {
    double value;
    std::memcpy(&value, event.data() + fields + 1 + static_cast<size_t>(i) * 9, 8);
    EXPECT_EQ(value, expected[i]);
  }
  // The counts are the last field, packed.
  double sum = 0;
  size_t start = event.size();
  for (double v; start >= 8; start -= 8) {
    std::memcpy(&v, event.data() + start - 8, 8);
    if (!(v >= 0 && v <= 5 && v == static_cast<int>(v))) break;
    sum += v;
  }
  EXPECT_EQ(sum, 5);
  EXPECT_NE(error_of([&] { SummaryWriter(folder_.string()).add_histogram("h", empty({0})); }).find("no element"), std::string::npos);
}

TEST_F(Writer, pictures_text_and_curves) {
  SummaryWriter writer(folder_.string());
  const Tensor image = (arange(12).view({3, 2, 2}) / 12.0).to(kFloat);
  if (vision::codecs_found()) {
    writer.add_image("image", image, 1);
    writer.add_images("images", image.expand({9, 3, 2, 2}), 2);
  }
  writer.add_text("note", "**bold**", 3);
  writer.add_pr_curve("curve", tensor({1, 0, 1, 0}), tensor({0.9, 0.1, 0.4, 0.6}), 4, 3);
  writer.close();
  const auto found = events(folder_);
  std::string all;
  for (const auto& event : found) all += event;
  EXPECT_NE(all.find("note/text_summary"), std::string::npos);
  EXPECT_NE(all.find("**bold**"), std::string::npos);
  // At thresholds 0, 0.5 and 1: 2, 1 and 0 true positives; 2, 1 and 0 false ones.
  const float rows[] = {2, 1, 0, 2, 1, 0, 0, 1, 2, 0, 1, 2, 0.5, 0.5, 0, 1, 0.5, 0};
  EXPECT_NE(all.find(std::string(reinterpret_cast<const char*>(rows), sizeof rows)), std::string::npos);
  if (!vision::codecs_found()) return;
  const size_t at = all.find("\x89PNG");
  ASSERT_NE(at, std::string::npos);
  const std::string file = all.substr(at);
  const Tensor back = vision::decode_image(file.data(), file.size(), vision::ImageFormat::png, {}, "the picture");
  EXPECT_TRUE(back.equal((image * 255).to(kByte)));
  EXPECT_NE(all.find(std::string("\x08\x04\x10\x10\x18\x03")), std::string::npos);  // nine of 2 x 2: 4 rows, 16 columns, 3 channels
}

TEST_F(Writer, embeddings_and_hyperparameters) {
  SummaryWriter writer(folder_.string());
  writer.add_embedding(tensor({{1.0, 2.5}, {3.0, 4.0}}), {"a", "b"}, {}, 7, "points");
  EXPECT_EQ(content_of(folder_ / "00007/points/tensors.tsv"), "1\t2.5\n3\t4\n");
  EXPECT_EQ(content_of(folder_ / "00007/points/metadata.tsv"), "a\nb\n");
  EXPECT_EQ(content_of(folder_ / "projector_config.pbtxt"),
            "embeddings {\n  tensor_name: \"points:00007\"\n  metadata_path: \"00007/points/metadata.tsv\"\n  tensor_path: \"00007/points/tensors.tsv\"\n}\n");
  writer.add_hparams({{"lr", 0.1}, {"kind", std::string("sgd")}, {"steps", int64_t{5}}}, {{"accuracy", 0.9}}, "first");
  std::string all;
  for (const auto& event : events(folder_ / "first")) all += event;
  for (const char* text : {"_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "sgd", "accuracy"})
    EXPECT_NE(all.find(text), std::string::npos) << text;
  EXPECT_NE(error_of([&] { writer.add_embedding(ones({2, 2}), {"a"}); }).find("as many labels"), std::string::npos);
}

struct GraphNetImpl : nn::Module {
  GraphNetImpl() : body(register_module("body", nn::Sequential(nn::Linear(3, 4), nn::BatchNorm1d(4)))), scale(register_parameter("scale", ones({4}), false)) {}
  std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& y, double factor) {
    const Tensor seen = relu(body->forward(x)) * scale + y * factor;
    return {softmax(seen, -1), std::get<0>(seen.max(1))};
  }
  nn::Sequential body;
  Tensor scale;
};
CRESSET_MODULE(GraphNet);

// Field 1 of NodeDef, the operator and the inputs, of each node.
std::map<std::string, std::vector<std::string>> nodes_of(const std::string& graph) {
  const auto varint = [](const std::string& data, size_t& at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(data.at(at++));
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  };
  std::map<std::string, std::vector<std::string>> found;
  for (size_t at = 0; at < graph.size();) {
    const uint64_t tag = varint(graph, at), size = varint(graph, at);
    const std::string node = graph.substr(at, size);
    at += size;
    if (tag >> 3 != 1) continue;
    std::vector<std::string> texts;
    for (size_t in = 0; in < node.size();) {
      const uint64_t field = varint(node, in) >> 3, length = varint(node, in);
      if (field <= 3) texts.push_back(node.substr(in, length));
      in += length;
    }
    EXPECT_FALSE(found.count(texts.at(0))) << texts[0];
    found[texts.at(0)].assign(texts.begin() + 1, texts.end());
  }
  return found;
}

TEST_F(Writer, graphs_show_operators_in_their_modules) {
  GraphNet net;
  net->body->eval();
  const Tensor mean = net->named_buffers()["body.1.running_mean"].clone();
  SummaryWriter writer(folder_.string());
  writer.add_graph(net, rand({2, 3}), rand({4}), 2.0);
  writer.close();
  EXPECT_TRUE(net->is_training() && !net->body->is_training() && !net->body[1]->is_training());
  EXPECT_FALSE(net->scale.requires_grad());
  EXPECT_TRUE(net->named_buffers()["body.1.running_mean"].equal(mean));
  const std::string event = events(folder_).at(1);
  // Behind the time: field 4, and its size in two bytes.
  ASSERT_EQ(event[9], '\x22');
  const auto nodes = nodes_of(event.substr(12));
  const std::string linear = "GraphNet/Sequential[body]/Linear[0]", norm = "GraphNet/Sequential[body]/BatchNorm1d[1]";
  for (const std::string& parameter : {linear + "/weight", linear + "/bias", norm + "/weight", norm + "/bias", std::string("GraphNet/scale")})
    EXPECT_EQ(nodes.at(parameter), std::vector<std::string>{"Parameter"}) << parameter;
  EXPECT_EQ(nodes.at("input/input.1"), std::vector<std::string>{"IO Node"});
  EXPECT_EQ(nodes.at("input/input.2"), std::vector<std::string>{"IO Node"});
  EXPECT_EQ(nodes.at("GraphNet/softmax"), (std::vector<std::string>{"aten::softmax", "GraphNet/add"}));
  EXPECT_EQ(nodes.at("GraphNet/add"), (std::vector<std::string>{"aten::add", "GraphNet/mul", "GraphNet/mul_1"}));
  EXPECT_EQ(nodes.at("GraphNet/mul").at(2), "GraphNet/scale");
  EXPECT_EQ(nodes.at("output/output.1"), (std::vector<std::string>{"IO Node", "GraphNet/softmax"}));
  EXPECT_EQ(nodes.at("output/output.2"), (std::vector<std::string>{"IO Node", "GraphNet/max"}));
  size_t within_linear = 0, within_norm = 0;
  for (const auto& [name, parts] : nodes) {
    within_linear += parts[0].rfind("aten::", 0) == 0 && name.rfind(linear + "/", 0) == 0;
    within_norm += parts[0].rfind("aten::", 0) == 0 && name.rfind(norm + "/", 0) == 0;
    for (size_t i = 1; i < parts.size(); i++) EXPECT_TRUE(nodes.count(parts[i].substr(0, parts[i].find(':')))) << name << " takes " << parts[i];
  }
  EXPECT_GE(within_linear, 1u);
  EXPECT_GE(within_norm, 1u);
  EXPECT_NE(error_of([&] { writer.add_graph(net, rand({2, 3}), rand({4}), 1.0); }).find("closed"), std::string::npos);
  EXPECT_TRUE(net->is_training());
}

}  // namespace
