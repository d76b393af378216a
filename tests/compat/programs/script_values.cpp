// Types, schemas, lists and operators of TorchScript as programs ask for them, and the settings that servers make before they run.
#include <ATen/code_template.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <sstream>

#include "expect.h"

namespace {

const torch::jit::RegisterOperators registered({torch::jit::Operator(
    "script_values::twice(Tensor x) -> Tensor",
    [](torch::jit::Stack& stack) {
      const at::Tensor x = torch::jit::pop(stack).toTensor();
      torch::jit::push(stack, x * 2);
    },
    torch::jit::aliasAnalysisFromSchema())});

void attributes_of_types() {
  torch::jit::Module m("m");
  m.register_attribute("count", c10::IntType::get(), 3);
  m.register_attribute("names", c10::ListType::create(c10::StringType::get()), c10::List<std::string>({"a", "b"}));
  m.register_attribute("table", c10::DictType::create(c10::StringType::get(), c10::TensorType::get()), c10::Dict<std::string, at::Tensor>());
  m.register_attribute("maybe", c10::OptionalType::create(c10::FloatType::get()), c10::IValue());
  m.define(R"(
def forward(self, x: Tensor, by: int = 2) -> Tensor:
    if self.maybe is not None:
        x = x + 1
    return torch.ops.script_values.twice(x) * by + self.count + len(self.names) + len(self.table)
)");
  CHECK_THAT(m.forward({torch::ones(1)}).toTensor().item<float>() == 9);

  const auto schema = m.get_method("forward").function().getSchema();
  CHECK_THAT(schema.name() == "forward" && schema.arguments().size() == 3 && schema.arguments()[1].name() == "x");
  CHECK_THAT(schema.arguments()[1].type()->str() == "Tensor" && schema.arguments()[2].default_value()->toInt() == 2);
  CHECK_THAT(schema.argumentIndexWithName("by") == 2 && schema.returns()[0].type()->annotation_str() == "Tensor");
  std::ostringstream text;
  text << schema;
  CHECK_THAT(text.str().find("int by=2") != std::string::npos);
}

void lists_in_place() {
  const c10::IValue shared = c10::List<int64_t>({3, 4});
  CHECK_THAT(shared.toListRef().size() == 2 && shared.toListRef()[1].toInt() == 4);
  const c10::IValue tensors = std::vector<at::Tensor>{torch::ones(2), torch::zeros(1)};
  const at::ArrayRef<c10::IValue> elements = tensors.toListRef();
  CHECK_THAT(elements.size() == 2 && elements[0].toTensor().numel() == 2 && tensors.isTensorList());
  CHECK_THAT(tensors.toTensorVector()[1].numel() == 1);
  CHECK_THAT(shared.toDimVector() == at::DimVector({3, 4}));
  bool refused = false;
  try {
    c10::IValue(1).toListRef();
  } catch (const c10::Error&) { refused = true; }
  CHECK_THAT(refused);
}

void operators_of_the_registry() {
  const auto& twice = torch::jit::getAllOperatorsFor(torch::jit::Symbol::fromQualString("script_values::twice"));
  CHECK_THAT(twice.size() == 1 && twice[0]->schema().name() == "script_values::twice");
  torch::jit::Stack stack;
  torch::jit::push(stack, torch::ones(2));
  twice.front()->getOperation()(stack);
  CHECK_THAT(torch::jit::pop(stack).toTensor().equal(torch::full({2}, 2.0)));
  CHECK_THAT(torch::jit::getAllOperatorsFor(torch::jit::Symbol::aten("add")).size() > 1);
  CHECK_THAT(torch::jit::getAllOperatorsFor(torch::jit::Symbol::aten("no_such_operator")).empty());
  CHECK_THAT(torch::jit::findOperatorFor(c10::OperatorName("aten::relu", ""))->schema().returns().size() == 1);
}

void settings() {
  torch::jit::getProfilingMode() = false;
  torch::jit::getExecutorMode() = false;
  torch::jit::setTensorExprFuserEnabled(false);
  CHECK_THAT(!torch::jit::getProfilingMode() && !torch::jit::tensorExprFuserEnabled());
  CHECK_THAT(torch::jit::getGraphExecutorOptimize());
  {
    const torch::jit::GraphOptimizerEnabledGuard guard(false);
    CHECK_THAT(!torch::jit::getGraphExecutorOptimize());
  }
  CHECK_THAT(torch::jit::getGraphExecutorOptimize());
}

void templates() {
  at::jit::TemplateEnv env;
  env.s("name", "f");
  env.v("args", {"int x", "int y"});
  env.v("body", {"first();\nsecond();", "third();"});
  env.v("none", {});
  const at::jit::CodeTemplate text("int $name(bool b${,args}) {\n  $body\n} // $$${none,}\n");
  CHECK_THAT(text.format(env) == "int f(bool b, int x, int y) {\n  first();\n  second();\n  third();\n} // $\n");
  at::jit::TemplateEnv inner(env);
  inner.s("name", "g");
  CHECK_THAT(at::jit::CodeTemplate("$name$args").format(inner) == "gint x, int y" && env.s("name") == "f");
}

}  // namespace

int main() {
  attributes_of_types();
  lists_in_place();
  operators_of_the_registry();
  settings();
  templates();
  return failures;
}
