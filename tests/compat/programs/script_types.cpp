// Types, classes, objects, futures and enums of scripts, and values that hold them, by LibTorch's names. The texts of types are LibTorch 2.13's.
#include <ATen/ATen.h>
#include <ATen/CPUFunctions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/serialization/import_source.h>
#include <torch/custom_class.h>
#include <torch/script.h>

#include <sstream>

#include "expect.h"

using torch::jit::CompilationUnit;
namespace ivalue = c10::ivalue;

void texts_of_types() {
  using namespace c10;
  const auto shown = [](const TypePtr& type) { return type->str() + " " + type->annotation_str(); };
  same(shown(ListType::create(ListType::ofTensors())), "Tensor[][] List[List[Tensor]]", "a list of lists");
  same(shown(OptionalType::create(ListType::ofInts())), "int[]? Optional[List[int]]", "an optional list");
  same(shown(DictType::create(StringType::get(), ListType::ofInts())), "Dict(str, int[]) Dict[str, List[int]]", "a dict");
  same(shown(TupleType::create({IntType::get(), ListType::ofFloats()})), "(int, float[]) Tuple[int, List[float]]", "a tuple");
  same(shown(TupleType::create({})), "() Tuple[()]", "an empty tuple");
  same(shown(NumberType::get()), "Scalar number", "a number");
  same(shown(UnionType::create({IntType::get(), StringType::get()})), "Union(int, str) Union[int, str]", "a union");
  same(shown(FutureType::create(IntType::get())), "Future(int) Future[int]", "a future");

  const auto pair = [](const char* name) { return TupleType::createNamed(QualifiedName(name), {"a", "b"}, {IntType::get(), TensorType::get()}); };
  CHECK_THAT(pair("my.Pair") == pair("my.Pair") && pair("my.Pair") != pair("my.Other"));
  CHECK_THAT(pair("my.Pair")->name()->name() == "Pair" && pair("my.Pair")->annotation_str() == "my.Pair");
  check(throws<c10::Error>([] { TupleType::createNamed(QualifiedName("P"), {"a"}, {}); }), "a field without a type");

  const TypePrinter printer = [](const Type& t) -> std::optional<std::string> {
    if (t.cast<TensorType>()) return "Array";
    return std::nullopt;
  };
  same(ListType::create(TupleType::create({TensorType::get(), IntType::get()}))->annotation_str(printer), "List[Tuple[Array, int]]", "a printer");

  const TypePtr list = ListType::ofInts();
  CHECK_THAT(list->kind() == TypeKind::ListType && list->expect<ListType>()->getElementType() == IntType::get() && !list->cast<DictType>());
  check(throws<c10::Error>([&] { list->expect<DictType>(); }), "another kind");
  CHECK_THAT(IntType::get()->isSubtypeOf(*NumberType::get()) && !BoolType::get()->isSubtypeOf(*NumberType::get()));
  CHECK_THAT(NoneType::get()->isSubtypeOf(*OptionalType::create(IntType::get())) && !list->isSubtypeOf(*ListType::create(NumberType::get())));
  CHECK_THAT(TupleType::create({IntType::get()})->isSubtypeOf(*TupleType::create({NumberType::get()})));
  CHECK_THAT(c10::IValue(3).type() == IntType::get() && c10::IValue(std::vector<double>{1}).type() == ListType::ofFloats());
}

void classes_and_objects() {
  const auto unit = std::make_shared<CompilationUnit>();
  const auto cls = c10::ClassType::create("my.Pair", unit);
  CHECK_THAT(cls->addAttribute("left", c10::TensorType::get()) == 0 && cls->addAttribute("right", c10::ListType::ofInts()) == 1);
  CHECK_THAT(cls->hasAttribute("left") && !cls->hasAttribute("middle") && cls->numAttributes() == 2 && cls->getAttributeSlot("right") == 1);
  CHECK_THAT(cls->getAttribute("right") == c10::ListType::ofInts() && cls->name()->qualifiedName() == "my.Pair");
  check(throws<c10::Error>([&] { cls->addAttribute("left", c10::IntType::get()); }), "two attributes of one name");
  check(throws<c10::Error>([&] { cls->getAttribute("middle"); }), "no such attribute");
  cls->addConstant("size", 2);
  CHECK_THAT(cls->hasConstant("size") && cls->getConstant("size").toInt() == 2);
  cls->unsafeRemoveConstant("size");
  CHECK_THAT(cls->numConstants() == 0);

  const auto object = ivalue::Object::create(c10::StrongTypePtr(unit, cls), cls->numAttributes());
  object->setSlot(0, torch::ones({2}));
  object->setAttr("right", std::vector<int64_t>{4});
  const c10::IValue held(object);
  CHECK_THAT(held.isObject() && held.toObject()->getAttr("right").toIntVector() == std::vector<int64_t>({4}));
  check(throws<c10::Error>([&] { object->getAttr("middle"); }) && throws<c10::Error>([] { c10::IValue(3).toObject(); }), "no attribute, no object");
  c10::IValue::HashAliasedIValues inside;
  held.getSubValues(inside);
  CHECK_THAT(inside.size() == 3 && inside.count(object->getSlot(0)) == 1);
  object->unsafeRemoveAttr("left");
  CHECK_THAT(object->slots().size() == 1 && cls->hasAttribute("left"));

  const auto color = c10::EnumType::create("Color", c10::IntType::get(), {{"RED", 1}, {"BLUE", 2}}, unit);
  const c10::IValue red(c10::make_intrusive<ivalue::EnumHolder>(color, "RED", 1)), blue(c10::make_intrusive<ivalue::EnumHolder>(color, "BLUE", 2));
  CHECK_THAT(red.isEnum() && red != blue && red == c10::IValue(c10::make_intrusive<ivalue::EnumHolder>(color, "RED", 1)));
  CHECK_THAT(red.toEnumHolder()->name() == "RED" && blue.toEnumHolder()->value().toInt() == 2);
  check(throws<c10::Error>([&] { c10::make_intrusive<ivalue::EnumHolder>(color, "GREEN", 3); }), "no such member");
}

void futures() {
  const auto future = c10::make_intrusive<ivalue::Future>(c10::IntType::get());
  int calls = 0;
  future->addCallback([&](ivalue::Future& f) { calls += static_cast<int>(f.value().toInt()); });
  const auto next = future->then([](ivalue::Future& f) { return c10::IValue(f.value().toInt() + 1); }, c10::IntType::get());
  check(throws<c10::Error>([&] { future->value(); }), "the value of a future that is not done");
  CHECK_THAT(!future->completed() && !future->hasError());
  future->markCompleted(42);
  CHECK_THAT(future->completed() && future->hasValue() && calls == 42 && next->value().toInt() == 43);
  future->addCallback([&] { calls++; });
  CHECK_THAT(calls == 43 && c10::IValue(future).toFuture()->value().toInt() == 42 && c10::IValue(future).isFuture());

  const auto failed = c10::make_intrusive<ivalue::Future>(c10::TensorType::get());
  failed->setError(std::make_exception_ptr(ivalue::Future::FutureError("out of luck")));
  CHECK_THAT(failed->hasError() && failed->completed() && failed->tryRetrieveErrorMessage() == "out of luck");
  check(throws<std::exception>([&] { failed->value(); }), "the value of a future that failed");
  std::string message;
  try {
    failed->setError(std::make_exception_ptr(std::runtime_error("again")));
  } catch (const std::exception& e) { message = e.what(); }
  CHECK_THAT(message.find("out of luck") != std::string::npos && message.find("again") != std::string::npos);
}

void other_values() {
  const auto stream = [](int index) {
    return c10::IValue(c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index))));
  };
  CHECK_THAT(stream(0).isStream() && stream(0).equals(stream(0)).toBool() && !stream(0).equals(stream(1)).toBool() && stream(1).toStream().device_index() == 1);
  const auto blob = c10::make_intrusive<caffe2::Blob>();
  *blob->GetMutable<std::string>() = "inside";
  CHECK_THAT(c10::IValue(blob).isBlob() && blob->IsType<std::string>() && blob->Get<std::string>() == "inside");
  check(throws<c10::Error>([&] { blob->Get<int>(); }), "a blob of another type");
  c10::IValue text("text");
  CHECK_THAT(text.isPtrType() && text.isAliasOf(text) && !text.isAliasOf(c10::IValue("text")) && !c10::IValue(1.5).isPtrType());
  const auto places = torch::tensor({{0, 1}, {1, 0}}), numbers = torch::ones({2});
  const c10::IValue sparse(torch::sparse_coo_tensor(places, numbers, {2, 2})), other(torch::sparse_coo_tensor(places, torch::ones({2}), {2, 2}));
  CHECK_THAT(sparse.isAliasOf(c10::IValue(places)) && sparse.isAliasOf(c10::IValue(numbers)) && sparse.isAliasOf(other));
  CHECK_THAT(!other.isAliasOf(c10::IValue(numbers)) && !sparse.isAliasOf(c10::IValue(torch::ones({2}))));
  CHECK_THAT(c10::IValue().is(c10::IValue(at::Tensor())) && c10::IValue(at::Tensor()).is(c10::IValue()) && !c10::IValue().is(c10::IValue(0)));
  ivalue::TupleElements two(1, "b");
  CHECK_THAT(two.size() == 2 && two.at(1).toStringRef() == "b" && std::move(two).vec().size() == 2);
}

void classes_of_texts() {
  const auto text = std::make_shared<torch::jit::Source>(R"(
class Inner:
    def __init__(self, y):
        self.y = y

class Outer:
    def __init__(self, x):
        self.inner = __torch__.Inner(x)
        self.x = self.inner.y

class Steps(ModuleInterface):
    def step(self, x: Tensor) -> Tensor:
        pass
)");
  const auto import = [&](const std::shared_ptr<CompilationUnit>& unit, const char* name) {
    torch::jit::SourceImporter importer(
        unit, nullptr, [&](const std::string&) { return text; }, /*version=*/2);
    return importer.loadType(c10::QualifiedName(name));
  };
  const auto first = std::make_shared<CompilationUnit>(), second = std::make_shared<CompilationUnit>();
  const c10::TypePtr outer = import(first, "__torch__.Outer");
  CHECK_THAT(outer == first->get_type("__torch__.Outer") && outer != import(second, "__torch__.Outer"));
  CHECK_THAT(import(first, "__torch__.Steps") == import(second, "__torch__.Steps") && first->get_interface("__torch__.Steps")->is_module());
  CHECK_THAT(first->get_class("__torch__.Outer")->hasMethod("__init__") && !first->get_class("__torch__.Absent"));
  check(throws<c10::Error>([&] { import(first, "__torch__.Absent"); }), "a class that the text does not have");
}

void ops_by_other_names() {
  const auto x = torch::randn({2, 6, 2, 2}), g = torch::randn({2, 6, 2, 2});
  CHECK_THAT(at::native::math_silu_backward(g, x).allclose(g * (x.sigmoid() * (1 + x * (1 - x.sigmoid())))));
  CHECK_THAT(at::native::math_addr(torch::zeros({2, 3}), torch::ones({2}), torch::ones({3}), 1, 2).equal(torch::full({2, 3}, 2.0)));
  const auto y = std::get<0>(at::native::math_group_norm(x, {}, {}, 2, 6, 4, 3, 1e-5));
  CHECK_THAT(y.view({2, 3, 8}).mean(-1).abs().max().item<float>() < 1e-5);
}

struct Counter : torch::CustomClassHolder {
  int64_t count = 0;
  int64_t next() { return ++count; }
};
const auto counter_class = torch::class_<Counter>("_ScriptTypes", "Counter", "Counts.")
                               .def(torch::init<>())
                               .def("next", &Counter::next, "One more.")
                               .def_pickle([](const c10::intrusive_ptr<Counter>& self) { return self->count; },
                                           [](int64_t count) {
                                             auto made = c10::make_intrusive<Counter>();
                                             made->count = count;
                                             return made;
                                           });

// The states are tuples, of two values and of one.
struct Pair : torch::CustomClassHolder {
  Pair(int64_t l, double r) : left(l), right(r) {}
  int64_t left;
  double right;
};
const auto pair_class = torch::class_<Pair>("_ScriptTypes", "Pair")
                            .def(torch::init<int64_t, double>())
                            .def_readonly("right", &Pair::right)
                            .def_pickle([](const c10::intrusive_ptr<Pair>& self) { return std::make_tuple(self->left, self->right); },
                                        [](std::tuple<int64_t, double> state) { return c10::make_intrusive<Pair>(std::get<0>(state), std::get<1>(state)); });
struct Single : torch::CustomClassHolder {
  explicit Single(int64_t v) : value(v) {}
  int64_t value;
};
const auto single_class = torch::class_<Single>("_ScriptTypes", "Single")
                              .def(torch::init<int64_t>())
                              .def_readonly("value", &Single::value)
                              .def_pickle([](const c10::intrusive_ptr<Single>& self) { return std::make_tuple(self->value); },
                                          [](std::tuple<int64_t> state) { return c10::make_intrusive<Single>(std::get<0>(state)); });

void states_that_are_tuples() {
  const c10::IValue two = torch::make_custom_class<Pair>(3, 4.5), one = torch::make_custom_class<Single>(7);
  const auto copy = two.deepcopy().toCustomClass<Pair>();
  CHECK_THAT(copy->left == 3 && copy->right == 4.5 && copy != two.toCustomClass<Pair>() && one.deepcopy().toCustomClass<Single>()->value == 7);
  torch::jit::Module module("States");
  module.register_attribute("two", two.type(), two);
  module.register_attribute("one", one.type(), one);
  module.define("def forward(self) -> float:\n    return self.two.right + self.one.value\n");
  std::stringstream file;
  module.save(file);
  CHECK_THAT(torch::jit::load(file).forward({}).toDouble() == 11.5);
}

void custom_classes() {
  const c10::IValue held = torch::make_custom_class<Counter>();
  held.toCustomClass<Counter>()->next();
  CHECK_THAT(held.toCustomClass<Counter>()->count == 1);
  check(throws<c10::Error>([] { c10::IValue(3).toCustomClass<Counter>(); }), "no object of the class");
  const auto cls = torch::getCustomClass("__torch__.torch.classes._ScriptTypes.Counter");
  CHECK_THAT(cls && cls->doc_string() == "Counts." && cls->getMethod("next").doc_string() == "One more." &&
             held.type()->annotation_str() == cls->annotation_str());
  CHECK_THAT(!torch::getCustomClass("__torch__.torch.classes._ScriptTypes.Absent"));
  torch::jit::Module module("Holder");
  module.register_attribute("counter", held.type(), held);
  module.define("def forward(self) -> int:\n    return self.counter.next()\n");
  module.eval();
  CHECK_THAT(module.forward({}).toInt() == 2 && torch::jit::freeze_module(module).forward({}).toInt() == 3);
  std::stringstream file;
  module.save(file);
  const auto adapter = std::make_shared<caffe2::serialize::IStreamAdapter>(&file);
  CHECK_THAT(adapter->size() == file.str().size() && torch::jit::load(adapter).forward({}).toInt() == 4);
}

void unions() {
  using namespace c10;
  const auto made = UnionType::create({OptionalType::create(IntType::get()), FloatType::get(), IntType::get()});
  CHECK_THAT(made->getTypes().size() == 3 && NoneType::get()->isSubtypeOf(made) && OptionalType::create(FloatType::get())->isSubtypeOf(made));
  const auto numbers = UnionType::create({IntType::get(), FloatType::get(), ComplexType::get()});
  CHECK_THAT(*NumberType::get() == *numbers && numbers->isSubtypeOf(made) == false &&
             made == UnionType::create({NoneType::get(), FloatType::get(), IntType::get()}));
}

void graphs() {
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"(graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %sum : Tensor = aten::add(%x, %y, %one)
  %out : Tensor = aten::relu(%sum)
  return (%sum, %out))",
                      graph.get());
  CHECK_THAT(graph->inputs().size() == 2 && graph->outputs().size() == 2);
  check(throws<c10::Error>([&] { torch::jit::parseIR("graph():\n  return ()", graph.get()); }), "a graph that is not empty");
  torch::jit::InterpreterState run(torch::jit::Code(graph, "sums"));
  torch::jit::Stack stack{torch::full({2}, -3.0), torch::ones({2})};
  run.run(stack);
  CHECK_THAT(stack.size() == 2 && stack[0].toTensor().equal(torch::full({2}, -2.0)) && stack[1].toTensor().equal(torch::zeros({2})));
  stack.pop_back();
  check(throws<c10::Error>([&] { run.run(stack); }), "too few arguments");
}

int main() {
  texts_of_types();
  classes_and_objects();
  futures();
  other_values();
  classes_of_texts();
  ops_by_other_names();
  custom_classes();
  states_that_are_tuples();
  unions();
  graphs();
  return failures;
}
