// Registered classes of C++ within programs of TorchScript, and in archives.

#include "cresset/dispatch/custom_class.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cresset/graph/script/module.h"
#include "cresset/graph/script/print.h"

namespace cresset::graph::script {
namespace {

struct Tape : CustomClassHolder {
  std::vector<std::string> words;
  explicit Tape(std::vector<std::string> w) : words(std::move(w)) {}
  void push(std::string word) { words.push_back(std::move(word)); }
  int64_t size() const { return static_cast<int64_t>(words.size()); }
};
CRESSET_LIBRARY(script_tests, m) {
  m.class_<Tape>("Tape")
      .def(init<std::vector<std::string>>())
      .def("push", &Tape::push)
      .def("size", &Tape::size)
      .def("last", [](const intrusive_ptr<Tape>& self) { return self->words.back(); })
      .def_static("twice", [](int64_t n) { return 2 * n; })
      .def_pickle([](const intrusive_ptr<Tape>& self) { return self->words; },
                  [](std::vector<std::string> words) { return make_intrusive<Tape>(std::move(words)); });
}

constexpr const char* kText = R"(
def f(word: str) -> Tuple[str, int, int]:
    tape = torch.classes.script_tests.Tape(["a", "b"])
    tape.push(word)
    return tape.last(), tape.size(), torch.classes.script_tests.Tape.twice(4)
)";

TEST(CustomClass, ObjectsAreMadeAndCalled) {
  const auto unit = compile(kText);
  const Datum expected(dispatch::TupleObject::create({Datum("z"), Datum(3), Datum(8)}));
  EXPECT_EQ(unit->run_method("f", "z"), expected);
  // Its code is that of archives.
  const auto again = compile(
      "def g(word: str) -> Tuple[str, int, int]:\n  t = __torch__.torch.classes.script_tests.Tape.__new__(__torch__.torch.classes.script_tests.Tape)\n"
      "  _0 = (t).__init__([\"a\", \"b\"], )\n  _1 = (t).push(word, )\n  return ((t).last(), (t).size(), 8)\n");
  EXPECT_EQ(again->run_method("g", "z"), expected);
}

TEST(CustomClass, ObjectsOfModulesAreSaved) {
  Module m("Holder");
  const Type type = Type::object("__torch__.torch.classes.script_tests.Tape");
  m.register_attribute("tape", type, Datum(intrusive_ptr<dispatch::Object>(make_intrusive<Tape>(std::vector<std::string>{"x"}))));
  m.define("def forward(self, word: str) -> int:\n  self.tape.push(word)\n  return self.tape.size()\n");
  std::stringstream file;
  m.save(file);
  Module loaded = load(file);
  EXPECT_EQ(loaded.forward({Datum("y")}).toInt(), 2);
  EXPECT_EQ(m.forward({Datum("y")}).toInt(), 2);  // one of its own
  EXPECT_EQ(dispatch::class_object<Tape>(loaded.attr("tape"))->words.back(), "y");
}

}  // namespace
}  // namespace cresset::graph::script
