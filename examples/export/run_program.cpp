// Runs a program that Python exported, on tensors from a file, with no Python near it: see README.md.
//
//   run_program MODEL.pt2 TENSORS.safetensors [--repeat N]
//
// The tensors are input0, input1, ... and, to be compared to the bit, output0, output1, ...
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "cresset/autograd/grad_mode.h"
#include "cresset/graph/io/pt2.h"
#include "cresset/io/safetensors.h"
#include "cresset/ops/functions.h"

using namespace cresset;

static std::map<std::string, Tensor> tensors_of(const std::string& path) {
  std::map<std::string, Tensor> found;
  for (const auto& item : io::load_safetensors(path).tensors) found[item.key()] = item.value();
  return found;
}

static std::string compared(const Tensor& found, const Tensor& expected) {
  if (equal(found, expected)) return "equal to the bit";
  if (found.sizes() != expected.sizes()) return "differs in its shape";
  const double by = max(abs(found.to(kDouble) - expected.to(kDouble))).item<double>();
  return "differs by at most " + str(by);
}

int main(int argc, char** argv) try {
  if (argc != 3 && !(argc == 5 && std::string(argv[3]) == "--repeat")) {
    std::fprintf(stderr, "usage: run_program MODEL.pt2 TENSORS.safetensors [--repeat N]\n");
    return 2;
  }
  const NoGradGuard no_gradients;
  const graph::ExportedProgram program = graph::load_program(argv[1]);
  const auto tensors = tensors_of(argv[2]);
  std::vector<graph::Datum> inputs;
  for (size_t i = 0; i < program.inputs().size(); i++) inputs.emplace_back(tensors.at("input" + std::to_string(i)).clone());

  const int repeat = argc == 5 ? std::atoi(argv[4]) : 1;
  std::vector<graph::Datum> outputs;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeat; i++) outputs = program.run(inputs);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;

  bool is_equal = true;
  for (size_t i = 0; i < outputs.size(); i++) {
    if (!outputs[i].is_tensor()) continue;
    const auto expected = tensors.find("output" + std::to_string(i));
    const std::string said = expected == tensors.end() ? "nothing to compare with" : compared(outputs[i].to_tensor(), expected->second);
    is_equal = is_equal && said == "equal to the bit";
    std::printf("output %zu: %s\n", i, said.c_str());
  }
  std::printf("%zu nodes, %.3f ms a run\n", program.graph().num_nodes(), spent.count() / repeat);
  return is_equal ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
