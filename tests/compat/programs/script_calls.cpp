// Functions, units and methods of scripts by the names that LibTorch's programs call them.
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <sstream>

#include "expect.h"

namespace {

struct Counter : torch::CustomClassHolder {
  explicit Counter(int64_t start) : n(start) {}
  int64_t next() { return ++n; }
  int64_t n;
};

TORCH_LIBRARY(script_calls, m) {
  m.class_<Counter>("Counter")
      .def(torch::init<int64_t>())
      .def("next", &Counter::next)
      .def_pickle([](const c10::intrusive_ptr<Counter>& self) { return self->n; }, [](int64_t n) { return c10::make_intrusive<Counter>(n); });
}

std::string printed(const c10::IValue& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

void functions() {
  const auto unit = torch::jit::compile("def f(x: Tensor, y: Optional[int] = None, *, z: str = 'a') -> Tuple[Tensor, str]:\n    return x, z\n");
  torch::jit::Function& f = unit->get_function(c10::QualifiedName("f"));
  CHECK_THAT(f.name() == "f" && f.num_inputs() == 3 && f.qualname().name() == "f");
  CHECK_THAT(f({torch::ones(1)}, {{"z", "b"}}).toTuple()->elements()[1].toStringRef() == "b");
  CHECK_THAT(torch::jit::toGraphFunction(f).graph()->inputs().size() == 3);
  const auto schema = f.getSchema();
  CHECK_THAT(schema.arguments()[1].type()->kind() == c10::TypeKind::OptionalType && schema.returns()[0].type()->cast<c10::TupleType>()->elements().size() == 2);
}

void units() {
  torch::jit::CompilationUnit unit("def h(a: int, b: float):\n    return a + b\n");
  unit.define(c10::nullopt, "def k(a: int):\n    return a + 1\n", torch::jit::nativeResolver(), nullptr);
  CHECK_THAT(unit.run_method("h", 1, 2.5).toDouble() == 3.5 && unit.run_method("k", 1).toInt() == 2);
  CHECK_THAT(unit.find_function(c10::QualifiedName("q")) == nullptr && unit.find_function(c10::QualifiedName("h")) != nullptr);
  CHECK_THAT(unit.get_functions().size() == 2);
}

void methods() {
  torch::jit::Module m("Counts");
  m.register_attribute("counter", c10::getCustomClassType<c10::intrusive_ptr<Counter>>(), c10::make_intrusive<Counter>(4));
  m.define("def forward(self, by: int) -> int:\n    assert by >= 0, 'less than nothing'\n    return self.counter.next() * by\n");
  CHECK_THAT(m.type()->str().find("Counts") != std::string::npos);
  const auto future = m.get_method("forward").run_async({2});
  future->wait();
  CHECK_THAT(future->completed() && future->value().toInt() == 10);
  const auto failed = m.get_method("forward").run_async({-1}, {}, [](std::function<void()> task) { task(); });
  CHECK_THAT(failed->hasError());
  bool raised = false;
  try {
    m.forward({-1});
  } catch (const torch::jit::JITException&) { raised = true; }
  CHECK_THAT(raised);

  std::stringstream file;
  torch::jit::ExtraFilesMap extra{{"note", "kept"}};
  m.save(file, extra);
  extra["note"].clear();
  CHECK_THAT(torch::jit::load(file, torch::kCPU, extra).forward({1}).toInt() == 6 && extra["note"] == "kept");
}

void values() {
  CHECK_THAT(printed(std::vector<std::string>{"p", "q"}) == "[p, q]");
  c10::Dict<std::string, int64_t> table;
  table.insert("k", 2);
  CHECK_THAT(printed(table) == "{k: 2}");
  CHECK_THAT(c10::IValue(1) == c10::IValue(1) && c10::IValue(1) != c10::IValue(1.0) && c10::IValue(1.5) == c10::IValue(1.5));
}

}  // namespace

int main() {
  functions();
  units();
  methods();
  values();
  return failures;
}
