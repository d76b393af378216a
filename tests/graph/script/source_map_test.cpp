// Errors of programs from archives show the lines of the program that the archive was made from.

#include <gtest/gtest.h>

#include <sstream>

#include "cresset/graph/script/module.h"
#include "cresset/graph/script/source_map.h"
#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph::script {
namespace {

Module saved_and_loaded(const Module& m) {
  std::stringstream bytes;
  m.save(bytes);
  return load(bytes);
}

TEST(SourceMap, ErrorsShowTheLinesOfTheProgramBesideThoseOfTheArchive) {
  Module m("Net");
  m.define(
      "def helper(self, x):\n    return x.view(7)\ndef forward(self, x):\n    if x.dim() > 1:\n        y = x + 1\n        x = self.helper(y) * 2\n    return "
      "x\n");
  Module again = saved_and_loaded(m);
  const auto check = [](Module& module) {
    const std::string text = error_of([&] { module.forward({Datum(ones({2, 3}))}); });
    EXPECT_NE(text.find("TorchScript (most recent call last):\n  File \"code/__torch__"), std::string::npos) << text;
    const size_t call = text.find("the archive was made from:\n  File \"<string>\", line 6, in forward");
    ASSERT_NE(call, std::string::npos) << text;
    const size_t original = text.find("File \"<string>\", line 2, in helper", call);
    ASSERT_NE(original, std::string::npos) << text;
    EXPECT_NE(text.find("    return x.view(7)\n           ~~~~~~~~~ <--- HERE", original), std::string::npos) << text;
  };
  check(again);
  Module third = saved_and_loaded(again);  // the lines survive
  check(third);
}

TEST(SourceMap, MapsReadBack) {
  auto source = std::make_shared<Source>();
  source->text = "a = 1\nb = 2\na = 1\n";
  source->file = "f.py";
  source->first_line = 5;
  const Places back = read_source_map(write_source_map({{0, {}}, {10, {source, 6, 11}}, {20, {}}, {30, {source, 12, 17}}}));
  ASSERT_EQ(back.size(), 4u);
  EXPECT_EQ(back[0].range.source, nullptr);
  EXPECT_EQ(back[1].at, 10u);
  EXPECT_EQ(back[1].range.source->text, source->text);
  EXPECT_EQ(back[1].range.text(), "b = 2");
  EXPECT_EQ(back[3].range.source->line_of(back[3].range.start), 7);
}

TEST(SourceMap, DamagedMapsAreErrorsThatLoadingDoesNotMeet) {
  std::string bytes = write_source_map({{0, {}}});
  EXPECT_NE(error_of([&] { read_source_map(bytes.substr(0, bytes.size() / 2)); }), "no error");
  bytes[bytes.find("FORMAT")] = 'X';
  EXPECT_NE(error_of([&] { read_source_map(bytes); }).find("unknown form"), std::string::npos);
  ArchiveSource source;
  source.map = bytes;
  EXPECT_EQ(source.origin(3), nullptr);
}

}  // namespace
}  // namespace cresset::graph::script
