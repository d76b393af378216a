// Modules in C++: built, saved, loaded, called.

#include "cresset/graph/script/module.h"

#include <gtest/gtest.h>

#include <sstream>

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

Module scaled(double by) {
  Module m("Scaled");
  m.register_parameter("weight", full({2}, by), false);
  m.define("def helper(self, x: Tensor) -> Tensor:\n  return x * self.weight\ndef forward(self, x: Tensor) -> Tensor:\n  return self.helper(x) + 1\n");
  return m;
}

TEST(ModuleApi, MethodsAndFunctionsAreDefinedOnce) {
  Module net("Net");
  const std::string text = "def forward(self, x: int):\n  return x\n";
  net.define(text);
  EXPECT_NE(error_of([&] { net.define(text); }).find("'Net' has a method 'forward' already"), std::string::npos);
  EXPECT_NE(error_of([] {
              std::make_shared<CompilationUnit>()->define_text("def f():\n  return 1\ndef f():\n  return 2\n", nullptr);
            }).find("there is a function 'f' already"),
            std::string::npos);
}

TEST(ModuleApi, MethodsAreClonedToOtherModules) {
  Module to("Other");
  to.register_parameter("weight", full({2}, 5.0), false);
  to.clone_method(scaled(2), "forward");
  EXPECT_TRUE(equal(to.forward({ones({2})}).toTensor(), full({2}, 6.0)));
  std::stringstream file;
  to.save(file);
  EXPECT_TRUE(equal(load(file).forward({ones({2})}).toTensor(), full({2}, 6.0)));
  EXPECT_NE(error_of([&] { to.clone_method(scaled(2), "forward"); }).find("has a method 'forward' already"), std::string::npos);
  EXPECT_NE(error_of([&] { to.clone_method(scaled(2), "nothing"); }).find("nothing"), std::string::npos);
}

TEST(ModuleApi, TheHookAddsFilesToArchives) {
  SetExportModuleExtraFilesHook([](const Module& m) { return ExtraFilesMap{{"class", m.type()->name}, {"note", "hook"}}; });
  std::stringstream file;
  const Module m = scaled(2);
  m.save(file, {{"note", "caller"}});
  SetExportModuleExtraFilesHook({});
  ExtraFilesMap extra{{"class", ""}, {"note", ""}};
  load(file, std::nullopt, extra);
  EXPECT_EQ(extra["class"], m.type()->name);
  EXPECT_EQ(extra["note"], "caller");
}

TEST(ModuleApi, UnitsKeepWhatIsImported) {
  std::stringstream file;
  scaled(3).save(file);
  const auto unit = std::make_shared<CompilationUnit>();
  std::string name;
  {
    Module m = import_ir_module(unit, file);
    name = m.type()->name;
    EXPECT_TRUE(equal(m.forward({ones({2})}).toTensor(), full({2}, 4.0)));
  }
  EXPECT_NE(find_class(name), nullptr);
  unit->uses.clear();
  EXPECT_EQ(find_class(name), nullptr);
}

TEST(ModuleApi, BytesAreRead) {
  std::stringstream file;
  scaled(3).save(file, {{"note", "text"}});
  const std::string bytes = file.str();
  const std::shared_ptr<char> data(new char[bytes.size()], std::default_delete<char[]>());
  std::copy(bytes.begin(), bytes.end(), data.get());
  ExtraFilesMap extra{{"note", ""}};
  EXPECT_TRUE(equal(parse_and_initialize_jit_module(data, bytes.size(), extra).forward({ones({2})}).toTensor(), full({2}, 4.0)));
  EXPECT_EQ(extra["note"], "text");
}

TEST(ModuleApi, ModulesKeepMemoryAndExamples) {
  bool freed = false;
  {
    Module m = scaled(2);
    m.set_delete_memory(std::shared_ptr<char>(new char, [&](char* p) {
      freed = true;
      delete p;
    }));
    m.store_traced_inputs("forward", {Datum(3), Datum("a")});
    const auto inputs = m.retrieve_traced_inputs();
    EXPECT_EQ(inputs.size(), 1u);
    EXPECT_EQ(inputs.at("forward").size(), 2u);
    EXPECT_FALSE(freed);
  }
  EXPECT_TRUE(freed);
}

}  // namespace
}  // namespace cresset::graph::script
