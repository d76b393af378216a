// Modules in C++: built, saved, loaded, called.

#include "cresset/graph/script/module.h"

#include <gtest/gtest.h>

#include "cresset/ops/functions.h"
#include "tests/error_of.h"

namespace cresset::graph::script {
namespace {

TEST(ModuleApi, ModulesAreBuiltSavedAndLoaded) {
  Module part("Part"), net("Net");
  part.register_parameter("weight", full({2}, 3.0), false);
  part.define("def forward(self, x: Tensor) -> Tensor:\n  return x * self.weight\n");
  net.register_module("part", part);
  net.register_attribute("names", Type::list(TypeKind::String), Datum(std::vector<std::string>{"a"}));
  net.define("def forward(self, x: Tensor, n: int = 2) -> Tensor:\n  return self.part(x) + n + len(self.names)\n");
  const std::string path = testing::TempDir() + "net.pt";
  net.save(path, {{"note", "text"}});
  ExtraFilesMap extra{{"note", ""}};
  Module loaded = load(path, std::nullopt, extra);
  EXPECT_EQ(extra["note"], "text");
  for (Module m : {net, loaded}) {
    EXPECT_TRUE(equal(m.forward({ones({2})}).toTensor(), full({2}, 6.0)));
    EXPECT_TRUE(equal(m.get_method("forward")({ones({2})}, {{"n", Datum(5)}}).toTensor(), full({2}, 9.0)));
    ASSERT_EQ(m.named_parameters().size(), 1u);
    EXPECT_EQ(m.named_parameters()[0].name, "part.weight");
    EXPECT_EQ(m.named_modules().size(), 2u);
    EXPECT_TRUE(m.is_training());
    m.eval();
    EXPECT_FALSE(Module(m.attr("part")).is_training());
  }
  Module copy = loaded.clone();
  copy.to(kDouble);
  EXPECT_EQ(copy.parameters()[0].scalar_type(), kDouble);
  EXPECT_EQ(loaded.parameters()[0].scalar_type(), kFloat);
  EXPECT_NE(error_of([&] { loaded.get_method("nothing"); }).find("nothing"), std::string::npos);
  EXPECT_NE(error_of([&] { loaded.setattr("names", 3); }).find("names"), std::string::npos);
  EXPECT_NE(error_of([&] { loaded.forward({ones({2}), Datum("a")}); }).find("'int' for argument 'n'"), std::string::npos);
}

}  // namespace
}  // namespace cresset::graph::script
