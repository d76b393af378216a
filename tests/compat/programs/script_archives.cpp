// A server of TorchScript as LibTorch's tutorials write it: archives are saved, loaded with extra files, changed, frozen, and go through bytes.
#include <torch/csrc/jit/testing/file_check.h>
#include <torch/custom_class.h>
#include <torch/script.h>

#include <sstream>

#include "expect.h"

struct Counter : torch::CustomClassHolder {
  int64_t count;
  explicit Counter(int64_t start) : count(start) {}
  int64_t next() { return ++count; }
};
TORCH_LIBRARY(script_archives, m) {
  m.class_<Counter>("Counter")
      .def(torch::init<int64_t>())
      .def("next", &Counter::next)
      .def_pickle([](const c10::intrusive_ptr<Counter>& self) { return self->count; }, [](int64_t count) { return c10::make_intrusive<Counter>(count); });
}

int main(int argc, char** argv) {
  const std::string path = std::string(argc > 1 ? argv[1] : ".") + "/script_archives.pt";
  torch::jit::Module net("Net");
  net.register_parameter("weight", torch::full({2}, 3.0), /*is_buffer=*/false);
  net.define(R"(
def scaled(self, x: Tensor, by: int = 2) -> Tensor:
    return x * self.weight * by
def forward(self, x: Tensor) -> Tensor:
    counter = torch.classes.script_archives.Counter(1)
    return self.scaled(x) + counter.next()
)");
  const auto x = torch::ones({2});
  const auto expected = torch::full({2}, 8.0);
  torch::jit::ExtraFilesMap files{{"labels", "cat\ndog"}};
  net.save(path, files);

  torch::jit::ExtraFilesMap wanted{{"labels", ""}};
  torch::jit::script::Module module = torch::jit::load(path, torch::kCPU, wanted);
  check(wanted["labels"] == "cat\ndog", "extra files");
  torch::jit::testing::FileCheck().check("mul")->check_next("return")->run("%3 = mul(%1, %2)\nreturn %3");
  module.eval();
  torch::NoGradGuard no_grad;
  check(module.forward({x}).toTensor().equal(expected), "forward");
  check(module.get_method("scaled")({x, 1}).toTensor().equal(torch::full({2}, 3.0)), "get_method");
  check(module.run_method("scaled", x).toTensor().equal(torch::full({2}, 6.0)), "run_method");
  check(module.attr("weight").toTensor().equal(torch::full({2}, 3.0)), "attr");
  for (const auto& parameter : module.named_parameters()) check(parameter.name == "weight", "named_parameters");

  torch::jit::Module doubled = module.clone();
  doubled.to(torch::kDouble);
  check(doubled.attr("weight").toTensor().scalar_type() == torch::kDouble && module.attr("weight").toTensor().scalar_type() == torch::kFloat, "clone, to");
  torch::jit::Module frozen = torch::jit::freeze(module);
  check(frozen.parameters().size() == 0 && frozen.forward({x}).toTensor().equal(expected), "freeze");
  check(torch::jit::optimize_for_inference(module).forward({x}).toTensor().equal(expected), "optimize_for_inference");

  std::string written;
  torch::jit::ExportModule(module, [&](const void* data, size_t size) {
    written.append(static_cast<const char*>(data), size);
    return size;
  });
  std::istringstream in(written);
  check(torch::jit::load(in).forward({x}).toTensor().equal(expected), "ExportModule");
  auto buffer = torch::jit::save_jit_module_to_bytes(module);
  torch::jit::ExtraFilesMap none;
  const std::shared_ptr<char> bytes(static_cast<char*>(buffer->data()), [](char*) {});
  check(torch::jit::parse_and_initialize_jit_module(bytes, buffer->size(), none).forward({x}).toTensor().equal(expected), "bytes");

  const c10::IValue table = torch::jit::Table({{"a", 1}, {"b", 2}});
  check(table.toTupleRef().elements()[1].toTupleRef().elements()[0].toStringRef() == "b", "Table");
  const torch::jit::QualifiedName name(torch::jit::QualifiedName("a.b"), "c");
  check(name.prefix() == "a.b" && name.name() == "c" && name.atoms().size() == 3 && torch::jit::QualifiedName("a").isPrefixOf(name), "QualifiedName");
  const auto adds = torch::jit::compile("def f(x: int):\n  return x + 1\n");
  check(adds->get_function(torch::jit::QualifiedName("f"))({3}).toInt() == 4, "a function of a qualified name is called");
  check(adds->find_function(torch::jit::QualifiedName("g")) == nullptr, "there is no other function");

  const auto unit = torch::jit::compile("def twice(x: Tensor) -> Tensor:\n  return x * 2\n");
  check(unit->run_method("twice", x).toTensor().equal(x * 2), "compile");
  const auto inner = torch::jit::compile(R"(
      # as far from the margin as the program around it
      def thrice(x: Tensor) -> Tensor:
        return x * 3
      def ninth(x: Tensor) -> Tensor:
        return thrice(thrice(x))
  )");
  check(inner->run_method("ninth", x).toTensor().equal(x * 9), "an indented source");
  try {
    torch::jit::compile("    def f(x):\n      return x\n  def g(x):\n    return x\n");
    check(false, "a second function nearer to the margin");
  } catch (const c10::Error& e) { check(std::string(e.what()).find("indentation") != std::string::npos, "the text of a wrong indentation"); }
  try {
    module.get_method("nothing");
    check(false, "an unknown method");
  } catch (const c10::Error& e) { check(std::string(e.what()).find("nothing") != std::string::npos, "the text of an unknown method"); }
  return failures;
}
