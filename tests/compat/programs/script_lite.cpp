// Files of the lite interpreter, written and run as deployed programs do.
#include <torch/csrc/jit/mobile/compatibility/model_compatibility.h>
#include <torch/csrc/jit/mobile/import.h>
#include <torch/script.h>

#include <sstream>

#include "expect.h"

using torch::jit::BytecodeEmitMode;
using torch::jit::BytecodeEmitModeGuard;

torch::jit::Module net() {
  torch::jit::Module inner("Inner"), module("Net");
  inner.register_parameter("weight", torch::full({2}, 3.0), /*is_buffer=*/false);
  inner.define("def forward(self, x: Tensor) -> Tensor:\n    return torch.add(x, x) * self.weight\n");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("count", c10::IntType::get(), 1);
  module.register_module("inner", inner);
  module.define(R"(
def forward(self, x: Tensor, n: int = 2) -> Tuple[Tensor, int]:
    for i in range(n):
        x = self.inner.forward(x)
    self.count = self.count + n
    return x, x.dim()
def counted(self) -> int:
    return self.count
)");
  return module;
}
std::string bytes_of(const torch::jit::Module& module) {
  std::ostringstream out;
  module._save_for_mobile(out);
  return out.str();
}
torch::jit::mobile::Module read(const std::string& bytes) {
  std::istringstream in(bytes);
  return torch::jit::_load_for_mobile(in);
}

void runs() {
  const auto x = torch::ones({2});
  auto lite = read(bytes_of(net()));
  const auto out = lite.forward({x, 1}).toTuple();
  check(out->elements()[0].toTensor().equal(x * 6) && out->elements()[1].toInt() == 1, "forward");
  check(lite.run_method("forward", x).toTuple()->elements()[0].toTensor().equal(x * 36), "a default argument");
  check(lite.get_method("counted")({}).toInt() == 4 && lite.attr("count", 0).toInt() == 4, "attributes that methods write");
  check(!lite.find_method("nothing") && lite.get_methods().size() == 2, "methods by name");
  check(throws<c10::Error>([&] { lite.get_method("nothing"); }), "a method that is not there");
  check(throws<c10::Error>([&] { lite.forward({x, 1, 2}); }), "too many arguments");
  check(lite.bytecode_version() == 8 && lite.is_training(), "facts");
  lite.eval();
  check(!lite.is_training(), "eval");
  check(lite.named_parameters().count("inner.weight") == 1 && lite.parameters().size() == 1, "tensors by name");
}

void files(const std::string& folder) {
  const std::string path = folder + "/net.ptl";
  net()._save_for_mobile(path, {{"labels", "cat"}});
  torch::jit::ExtraFilesMap extra{{"labels", ""}};
  check(torch::jit::_load_for_mobile(path, torch::kCPU, extra).forward({torch::ones({2}), 0}).isTuple(), "a file");
  check(extra["labels"] == "cat", "extra files");
  check(torch::jit::_get_model_bytecode_version(path) == 8, "the version of a file");
  check(torch::jit::load(path).forward({torch::ones({2}), 0}).isTuple(), "a file is an archive, too");
  net().save(folder + "/plain.pt");
  check(throws<c10::Error>([&] { torch::jit::_load_for_mobile(folder + "/plain.pt"); }), "an archive without bytecode");
  check(throws<c10::Error>([&] { torch::jit::_load_for_mobile(folder + "/nothing.ptl"); }), "a file that is not there");
  check(throws<c10::Error>([&] { net()._save_for_mobile(path, {}, /*save_mobile_debug_info=*/true); }), "debug information is refused");
}

void modes() {
  check(!BytecodeEmitMode::is_default_value_for_unspecified_arg_enabled() && BytecodeEmitMode::is_default_args_before_out_args_enabled() &&
            BytecodeEmitMode::is_emit_promoted_ops_enabled(),
        "modes at first");
  const std::string plain = bytes_of(net());
  const auto has = [](const std::string& bytes, const char* text) { return bytes.find(text) != std::string::npos; };
  check(has(plain, "DIM") && !has(plain, "aten::dim"), "a short instruction");
  {
    const BytecodeEmitModeGuard guard(true, false, false);
    check(BytecodeEmitMode::is_default_value_for_unspecified_arg_enabled() && !guard.prev_default_value_for_unspecified_arg_mode &&
              guard.prev_default_args_before_out_args && guard.prev_default_emit_promoted_ops,
          "modes in the scope");
    const auto options = torch::jit::getOptionsFromGlobal();
    check(options.enable_default_value_for_unspecified_arg && !options.enable_default_args_before_out_args && !options.enable_emit_promoted_ops, "options");
    const std::string whole = bytes_of(net());
    check(!has(whole, "DIM") && has(whole, "aten::dim"), "the operator itself");
    check(read(whole).forward({torch::ones({2}), 1}).toTuple()->elements()[0].toTensor().equal(torch::full({2}, 6.0)), "all arguments on the stack");
  }
  check(!BytecodeEmitMode::is_default_value_for_unspecified_arg_enabled() && BytecodeEmitMode::is_emit_promoted_ops_enabled(), "modes after the scope");
  torch::jit::enableMobileInterfaceCallExport();
  check(torch::jit::getMobileInterfaceCallExport() && torch::jit::getOptionsFromGlobal().incl_interface_call, "calls of interfaces");
}

int main(int argc, char** argv) {
  runs();
  files(argc > 1 ? argv[1] : ".");
  modes();
  return failures;
}
