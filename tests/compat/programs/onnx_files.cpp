// Graphs of ONNX nodes as files of that format, as tools that export models write them.
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/script.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "expect.h"

using torch::jit::Graph;

std::shared_ptr<Graph> graph_of(const std::string& text) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(text, graph.get());
  return graph;
}
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const char* const kLayer = R"(graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), %weight : Float(3)):
  %y : Float(2, 3) = onnx::Mul(%x, %weight)
  %none : NoneType = prim::Constant()
  %z : Float(2, 3) = onnx::Clip(%y, %none, %weight)
  %s : Float(2, 3) = onnx::Softmax[axis=1](%z)
  return (%s)
)";

// The bytes: fields of the format, by hand.
void bytes() {
  const auto graph = graph_of("graph(%x : Float(2)):\n  %y : Float(2) = onnx::Relu(%x)\n  return (%y)\n");
  const auto [model, weights, sizes, has_files, names] = torch::jit::export_onnx(graph, {}, 17, {});
  const std::string out = torch::jit::serialize_model_proto_to_string(model);
  check(weights.empty() && sizes.empty() && !has_files && names.size() == 1 && names.begin()->second == "Relu_0", "what comes with a model");
  check(out.substr(0, 2) == std::string("\x08\x08", 2), "the version of the format that came with opset 17");
  const size_t name = out.find("\x0A\x14\x0A\x01x\x12\x01") + 7;  // of the output, one letter
  check(name < out.size() && holds(out, "\x0A\x14\x0A\x01x\x12\x01" + out.substr(name, 1) + "\x1A\x06Relu_0\"\x04Relu"), "a node");
  check(holds(out, std::string("Z\x0F\x0A\x01x\x12\x0A\x0A\x08\x08\x01\x12\x04\x0A\x02\x08\x02", 17)), "an input with its type");
  check(out.substr(out.size() - 4) == std::string("B\x02\x10\x11", 4), "the opset at the end");
  torch::jit::check_onnx_proto(out);
  for (size_t n = 0; n < out.size(); n++) {
    const bool is_opset = n + 4 == out.size();  // a whole model but for the opset
    check(throws<std::exception>([&] { torch::jit::check_onnx_proto(out.substr(0, n)); }) || is_opset, "a file that is cut is refused");
  }
}

void initializers() {
  const auto weight = torch::tensor({1.f, 2.f, 3.f});
  const auto text = [&](bool defer, bool keep, const std::map<std::string, int>& domains = {}) {
    return torch::jit::pretty_print_onnx(graph_of(kLayer), {{"weight", weight}}, 17, defer, torch::onnx::OperatorExportTypes::ONNX, true, keep, domains);
  };
  check(holds(text(false, true), "raw_data: \"\\000\\000\\200?\\000\\000\\000@\\000\\000@@\""), "the bytes of a weight");
  check(holds(text(true, true), "raw_data: \"__EXTERNAL\""), "the mark of a weight that is deferred");
  const auto count = [](const std::string& s, const std::string& part) {
    int n = 0;
    for (size_t at = s.find(part); at != std::string::npos; at = s.find(part, at + 1)) n++;
    return n;
  };
  same(count(text(false, true), "\n  input {"), 2, "inputs with weights");
  same(count(text(false, false), "\n  input {"), 1, "inputs without weights");
  const auto made = torch::jit::export_onnx(graph_of(kLayer), {{"weight", weight}}, 17, {}, /*defer_weight_export=*/true);
  check(std::get<1>(made).at("weight").equal(weight), "the weight itself");
}

void sizes() {
  const auto graph = graph_of("graph(%x : Float(SS(-1), 3), %y : Float(SS(-1), *)):\n  %z : Float(*, 3) = onnx::Two(%x, %y)\n  return (%z)\n");
  const auto made = torch::jit::export_onnx(graph, {}, 17, {{"y", {{1, "columns"}}}});
  const torch::jit::SymbolDimMap& names = std::get<2>(made);
  check(!names.empty() && !names.begin()->first.is_static(), "symbols of sizes have names");
  torch::jit::DimSymbolMap back;
  for (const auto& [symbol, name] : names) back.emplace(name, symbol);
  check(back.count("x_dim_0") == 1, "named after the value that has it first");
  const std::string out = torch::jit::serialize_model_proto_to_string(std::get<0>(made));
  check(holds(out, "columns") && !holds(out, "y_dim_1"), "an axis with a name of its own");
}

void kinds_of_operators() {
  const char* const text = "graph(%x : Float(2)):\n  %y : Float(2) = aten::relu(%x)\n  %z : Float(2) = mine::Op[k=2](%y)\n  return (%z)\n";
  check(throws<std::exception>([&] { torch::jit::export_onnx(graph_of(text), {}, 17, {}); }), "operators of PyTorch are refused");
  const std::string out =
      torch::jit::pretty_print_onnx(graph_of(text), {}, 17, false, torch::onnx::OperatorExportTypes::ONNX_FALLTHROUGH, true, true, {{"mine", 4}});
  check(holds(out, "domain: \"org.pytorch.aten\""), "or become nodes of their own domain");
  check(holds(out, "domain: \"mine\"\n  version: 4"), "a domain of users with its version");
  check(throws<std::exception>([&] { torch::jit::export_onnx(graph_of(kLayer), {}, 3, {}); }), "an opset that there is not");
}

// Weights beside the model.
void files(const std::string& folder) {
  const auto weight = torch::arange(30000, torch::kFloat);
  const auto graph = graph_of("graph(%x : Float(30000), %w : Float(30000)):\n  %y : Float(30000) = onnx::Add(%x, %w)\n  return (%y)\n");
  const auto made = torch::jit::export_onnx(graph, {{"w", weight}}, 17, {}, false, torch::onnx::OperatorExportTypes::ONNX, true, true, {}, true,
                                            /*use_external_data_format=*/true, folder + "/model.onnx");
  check(std::get<3>(made), "weights became files");
  std::ifstream file(folder + "/w", std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  check(content.str() == std::string(static_cast<const char*>(weight.data_ptr()), 120000), "the bytes of a weight in its file");
  const std::string out = torch::jit::serialize_model_proto_to_string(std::get<0>(made));
  check(holds(out, "location") && out.size() < 400, "the model names the file");
  std::remove((folder + "/w").c_str());
}

int main(int argc, char** argv) {
  bytes();
  initializers();
  sizes();
  kinds_of_operators();
  files(argc > 1 ? argv[1] : ".");
  const torch::jit::NodeAttrNameMap none;
  const torch::jit::RawDataExportMap no_tensors;
  check(none.empty() && no_tensors.empty(), "maps");
  return failures;
}
