// Trace files: what they hold, that they are JSON, and that a file is whole or not there.

#include "cresset/profile/chrome_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <map>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cresset/cresset.h"
#include "cresset/profile/execution_trace.h"
#include "cresset/profile/recorder.h"
#include "tests/error_of.h"

namespace cresset::profile {
namespace {

using nlohmann::json;

Trace of_linear() {
  Options options;
  options.shapes = options.memory = true;
  const Tensor x = ones({2, 3}), w = ones({4, 3});
  start(options);
  {
    const RecordFunction scope("a \"step\"\n");
    linear(x, w);
  }
  return stop();
}
json event(const json& document, const std::string& name) {
  for (const auto& e : document["traceEvents"])
    if (e["name"] == name) return e;
  ADD_FAILURE() << "no event " << name;
  return {};
}
std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ChromeTrace, EventsHaveTimesThreadsShapesAndTypes) {
  const json document = json::parse(chrome_trace(of_linear(), "title", {{"note", "\"text\""}}));
  EXPECT_EQ(document["schemaVersion"], 1);
  EXPECT_EQ(document["note"], "text");
  const json linear = event(document, "aten::linear");
  EXPECT_EQ(linear["ph"], "X");
  EXPECT_EQ(linear["cat"], "cpu_op");
  EXPECT_EQ(linear["pid"], getpid());
  EXPECT_GT(linear["dur"].get<double>(), 0);
  EXPECT_EQ(linear["args"]["Input Dims"], json::parse("[[2, 3], [4, 3], []]"));
  EXPECT_EQ(linear["args"]["Input type"], json::parse(R"(["float", "float", ""])"));
  EXPECT_EQ(event(document, "a \"step\"\n")["cat"], "user_annotation");
  EXPECT_EQ(event(document, "[memory]")["args"]["Bytes"], 32);
  EXPECT_EQ(event(document, "process_name")["ph"], "M");
}

TEST(ChromeTrace, ArrowsGoFromCallsToTheirNodes) {
  start({});
  const Tensor x = ones({2}, TensorOptions().requires_grad(true));
  const Tensor y = x.exp();
  y.sum().backward();
  const json document = json::parse(chrome_trace(stop(), "title"));
  std::map<double, std::string> names;
  std::map<int, std::string> from, to;
  for (const auto& e : document["traceEvents"])
    if (e["ph"] == "X") names.emplace(e["ts"], e["name"]);  // the steps within a call may begin with it
  for (const auto& e : document["traceEvents"])
    if (e["ph"] == "s" || e["ph"] == "f") (e["ph"] == "s" ? from : to)[e["id"]] = names[e["ts"]];
  std::map<std::string, std::string> arrows;
  for (const auto& [id, name] : to) arrows[name] = from[id];
  EXPECT_EQ(arrows["ExpBackward0"], "aten::exp");
  EXPECT_EQ(arrows["SumBackward0"], "aten::sum");
  EXPECT_EQ(event(document, "ExpBackward0")["args"]["Fwd thread id"], event(document, "SumBackward0")["args"]["Fwd thread id"]);
  EXPECT_GT(event(document, "ExpBackward0")["args"]["Fwd thread id"].get<int>(), 0);
}

TEST(ChromeTrace, AFileThatCannotBeWrittenLeavesNothing) {
  EXPECT_NE(error_of([] { write_chrome_trace(of_linear(), "/nowhere/trace.json"); }).find("cannot write /nowhere/trace.json"), std::string::npos);
}

TEST(ChromeTrace, NamesInGzAreCompressed) {
  const std::string path = testing::TempDir() + "cresset_trace.json.gz";
  write_chrome_trace(of_linear(), path);
  EXPECT_EQ(text_of(path).substr(0, 2), "\x1f\x8b");
  std::remove(path.c_str());
}

TEST(ExecutionTrace, HoldsInputsAndOutputsOfEachCall) {
  const std::string path = testing::TempDir() + "cresset_execution.json";
  ExecutionTrace trace(path);
  const Tensor x = ones({2, 3}), w = ones({4, 3});
  trace.start();
  EXPECT_TRUE(trace.is_running());
  linear(x, w).sum();
  trace.stop();
  linear(x, w);
  trace.write();
  const json document = json::parse(text_of(path));
  std::remove(path.c_str());
  int linears = 0;
  for (const auto& node : document["nodes"]) {
    if (node["name"] != "aten::linear") continue;
    linears++;
    EXPECT_EQ(node["inputs"]["shapes"], json::parse("[[2, 3], [4, 3], []]"));
    EXPECT_EQ(node["inputs"]["types"][0], "Tensor(float)");
    EXPECT_EQ(node["outputs"]["shapes"], json::parse("[[2, 4]]"));
  }
  EXPECT_EQ(linears, 1);
}

}  // namespace
}  // namespace cresset::profile
