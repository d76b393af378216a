// Runs a program that was compiled ahead of time, on tensors from a file, with no Python and no compiler near it: see README.md.
//
//   run_package COMPILED.pt2 TENSORS.safetensors [--compile MODEL.pt2]
//
// The tensors are input0, input1, ... and, to be compared, output0, output1, ... With --compile the package is written first.
#include <chrono>
#include <cstdio>
#include <map>
#include <string>

#include "cresset/graph/codegen/package.h"
#include "cresset/io/safetensors.h"
#include "cresset/ops/functions.h"

using namespace cresset;

static double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char** argv) try {
  if (argc != 3 && !(argc == 5 && std::string(argv[3]) == "--compile")) {
    std::fprintf(stderr, "usage: run_package COMPILED.pt2 TENSORS.safetensors [--compile MODEL.pt2]\n");
    return 2;
  }
  if (argc == 5) graph::write_package(argv[4], argv[1]);
  auto start = std::chrono::steady_clock::now();
  const graph::CompiledProgram model = graph::load_compiled(argv[1]);
  const double loaded = milliseconds_since(start);

  std::map<std::string, Tensor> tensors;
  for (const auto& item : io::load_safetensors(argv[2]).tensors) tensors[item.key()] = item.value();
  std::vector<graph::Datum> inputs;
  for (size_t i = 0; i < model.program().inputs().size(); i++) inputs.emplace_back(tensors.at("input" + std::to_string(i)));
  start = std::chrono::steady_clock::now();
  const std::vector<graph::Datum> outputs = model.run(inputs);
  std::printf("%zu kernels, loaded in %.1f ms, first run %.1f ms\n", model.num_kernels(), loaded, milliseconds_since(start));

  bool is_close = true;
  for (size_t i = 0; i < outputs.size(); i++) {
    const auto expected = tensors.find("output" + std::to_string(i));
    if (!outputs[i].is_tensor() || expected == tensors.end()) continue;
    const bool same = allclose(outputs[i].to_tensor(), expected->second, 1e-4, 1e-5);
    is_close = is_close && same;
    std::printf("output %zu: %s\n", i, same ? "as expected" : "differs");
  }
  return is_close ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
