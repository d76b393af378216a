// From the start of a process to the first output of a .pt2 program, in milliseconds of its own processor time: graph_start MODEL.pt2 TENSORS.safetensors
#include <cstdio>
#include <ctime>
#include <string>

#include "cresset/autograd/grad_mode.h"
#include "cresset/graph/io/pt2.h"
#include "cresset/io/safetensors.h"
#include "cresset/io/zip.h"
#include "cresset/ops/functions.h"

using namespace cresset;

static double spent() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: graph_start MODEL.pt2 TENSORS.safetensors\n"), 2;
  const double started = spent();
  const NoGradGuard no_gradients;
  const graph::ExportedProgram program = graph::load_program(argv[1]);
  const double loaded = spent();
  std::vector<graph::Datum> inputs;
  for (const auto& item : io::load_safetensors(argv[2]).tensors)
    if (item.key() == "input0") inputs.emplace_back(item.value().narrow(0, 0, 1).contiguous());
  const double given = spent();
  const Tensor first = program.run(inputs)[0].to_tensor();
  const double ran = spent();
  program.run(inputs);
  program.run(inputs);
  const double warm = spent();
  program.run(inputs);
  const double again = spent();
  // Reading the weights alone, into memory that is fresh as theirs was.
  const double before = spent();
  const io::FileSource source(argv[1]);
  const io::ZipReader archive(source, argv[1]);
  size_t bytes = 0;
  std::vector<Tensor> kept;
  for (const io::ZipEntry& e : archive.entries()) {
    if (e.name.find("data/weights/") == std::string::npos || e.size == 0) continue;
    kept.push_back(empty({static_cast<int64_t>(e.size)}, TensorOptions(kByte)));
    source.read(e.data_offset, kept.back().data_ptr(), e.size);
    bytes += e.size;
  }
  const double reading = spent() - before;
  std::printf("start\t%.1f\nload\t%.1f\nreading_weights\t%.1f\t%zu bytes\nfirst_run\t%.1f\nwarm_run\t%.1f\n", started, loaded - started, reading, bytes,
              ran - given, again - warm);
  std::printf("start_to_first_output_besides_reading\t%.1f\n", started + loaded - started - reading + ran - given);
  return first.defined() ? 0 : 1;
}
