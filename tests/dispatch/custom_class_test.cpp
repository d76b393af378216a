// Registered C++ classes: methods, properties, copies, operators that take them, and mistakes in registering.

#include "cresset/dispatch/custom_class.h"

#include <gtest/gtest.h>

#include "cresset/cresset.h"
#include "tests/error_of.h"

namespace cresset::dispatch {
namespace {

struct Pile : CustomClassHolder {
  std::vector<std::string> items;
  int64_t limit = 3;
  explicit Pile(std::vector<std::string> items) : items(std::move(items)) {}
  void push(std::string item) { items.push_back(std::move(item)); }
  int64_t size() const { return static_cast<int64_t>(items.size()); }
  intrusive_ptr<Pile> copy() const { return make_intrusive<Pile>(items); }
};
struct Other : CustomClassHolder {};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Takes the class back at its end.
struct Registered {
  Library library{Library::definitions, "piles", std::string(), "here.cpp", 1};
  Registered() {
    library.class_<Pile>("Pile", "a pile of text")
        .def(init<std::vector<std::string>>())
        .def("push", &Pile::push)
        .def("copy", &Pile::copy)
        .def("top", [](const intrusive_ptr<Pile>& self, int64_t back) { return self->items.at(self->items.size() - 1 - static_cast<size_t>(back)); }, "",
             {arg("back") = 0})
        .def("labelled", [](const intrusive_ptr<Pile>& self, std::optional<std::string> label) { return self->items.front() + label.value_or("?"); }, "",
             {arg("label") = arg::none()})
        .def_property("size", &Pile::size)
        .def_readwrite("limit", &Pile::limit)
        .def_static("of", [](std::string item) { return make_intrusive<Pile>(std::vector<std::string>{std::move(item)}); })
        .def_pickle([](const intrusive_ptr<Pile>& self) { return self->items; },
                    [](std::vector<std::string> state) { return make_intrusive<Pile>(std::move(state)); });
  }
  const ClassInfo& info() const { return *find_class("piles.Pile"); }
  Value call(const char* method, Stack stack) const {
    call_method(info(), *info().find_method(method), stack);
    return stack.empty() ? Value() : stack.back();
  }
};

TEST(CustomClass, MethodsTakeTheObjectFirst) {
  const Registered r;
  const Value pile = r.call("__init__", {std::vector<std::string>{"a"}});
  r.call("push", {pile, "b"});
  EXPECT_EQ(pile.to<intrusive_ptr<Pile>>()->items, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(r.call("of", {"x"}).to<intrusive_ptr<Pile>>()->size(), 1);
}

TEST(CustomClass, ArgumentsThatAreLeftOutHaveTheirDefaults) {
  const Registered r;
  const Value pile = r.call("__init__", {std::vector<std::string>{"a", "b"}});
  EXPECT_EQ(r.call("top", {pile}).to_string(), "b");
  EXPECT_EQ(r.call("top", {pile, 1}).to_string(), "a");
  EXPECT_EQ(r.call("labelled", {pile}).to_string(), "a?");
  EXPECT_EQ(r.call("labelled", {pile, "!"}).to_string(), "a!");
  EXPECT_TRUE(contains(error_of([&] { r.call("push", {pile}); }), "Pile.push: misses the argument `_1`"));
  EXPECT_TRUE(contains(error_of([&] { r.call("top", {pile, 1, 2}); }), "Pile.top: expected at most 2 arguments, got 3"));
}

TEST(CustomClass, SchemasNameTheClass) {
  const Registered r;
  const FunctionSchema& copy = r.info().find_method("copy")->schema;
  EXPECT_EQ(type_name(copy.arguments[0].type), "__torch__.torch.classes.piles.Pile");
  EXPECT_EQ(type_name(copy.returns[0].type), "__torch__.torch.classes.piles.Pile");
}

TEST(CustomClass, PropertiesAreReadAndWritten) {
  const Registered r;
  const Value pile = r.call("__init__", {std::vector<std::string>{"a"}});
  Stack stack{pile};
  r.info().find_property("size")->get.call(stack);
  EXPECT_EQ(stack.back().to_int(), 1);
  EXPECT_FALSE(r.info().find_property("size")->set);
  stack = {pile, 9};
  r.info().find_property("limit")->set->call(stack);
  EXPECT_EQ(pile.to<intrusive_ptr<Pile>>()->limit, 9);
}

TEST(CustomClass, CopiesGoThroughTheStateThatIsKept) {
  const Registered r;
  const Value pile = r.call("__init__", {std::vector<std::string>{"a"}});
  const Value copy = pile.deepcopy();
  r.call("push", {copy, "b"});
  EXPECT_EQ(pile.to<intrusive_ptr<Pile>>()->size(), 1);
  EXPECT_EQ(copy.to<intrusive_ptr<Pile>>()->size(), 2);
}

TEST(CustomClass, OperatorsTakeObjects) {
  Registered r;
  r.library.def("count(__torch__.torch.classes.piles.Pile pile) -> int", [](const intrusive_ptr<Pile>& pile) { return pile->size(); });
  Stack stack{r.call("of", {"x"})};
  find_op("piles::count").call_boxed(stack);
  EXPECT_EQ(stack.at(0).to_int(), 1);
  stack = {Value("text")};
  EXPECT_TRUE(contains(error_of([&] { find_op("piles::count").call_boxed(stack); }), "piles.Pile: expected an object of the class, got"));
}

TEST(CustomClass, ADoubleRegistrationNamesBothPlaces) {
  const Registered r;
  Library second(Library::fragment, "piles", std::string(), "there.cpp", 2);
  const std::string error = error_of([&] { second.class_<Other>("Pile"); });
  EXPECT_TRUE(contains(error, "there.cpp:2")) << error;
  EXPECT_TRUE(contains(error, "here.cpp:1")) << error;
  EXPECT_TRUE(contains(error_of([&] { second.class_<Pile>("Again"); }), "is registered as __torch__.torch.classes.piles.Pile"));
  EXPECT_TRUE(contains(error_of([&] { second.class_<Other>("no name"); }), "expected a name of letters"));
}

TEST(CustomClass, AMemberIsThereOnce) {
  Registered r;
  Library m(Library::fragment, "more", std::string(), "there.cpp", 2);
  auto made = m.class_<Other>("Other");
  made.def("f", [](const intrusive_ptr<Other>&) {});
  EXPECT_TRUE(contains(error_of([&] { made.def_property("f", [](const intrusive_ptr<Other>&) { return 1.0; }); }), "has a member f already"));
}

TEST(CustomClass, ClosingTheLibraryTakesTheClassBack) {
  { const Registered r; }
  EXPECT_EQ(find_class("piles.Pile"), nullptr);
  EXPECT_TRUE(contains(error_of([] { class_of(typeid(Pile)); }), "registered as no class"));
}

}  // namespace
}  // namespace cresset::dispatch
