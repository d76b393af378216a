// From the start of a process to the first output of a .pt2 program, in milliseconds of the clock on the wall and of the processors, reading of the weights apart:
// graph_start MODEL.pt2 TENSORS.safetensors
#include <cstdio>
#include <ctime>
#include <string>

#include "cresset/autograd/grad_mode.h"
#include "cresset/graph/io/pt2.h"
#include "cresset/io/safetensors.h"
#include "cresset/io/zip.h"
#include "cresset/ops/functions.h"

using namespace cresset;

namespace {

struct Clocks {
  double wall = 0, processors = 0;
  Clocks operator-(const Clocks& o) const { return {wall - o.wall, processors - o.processors}; }
};
double read(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}
Clocks now() { return {read(CLOCK_BOOTTIME), read(CLOCK_PROCESS_CPUTIME_ID)}; }

// When the process began, by the kernel's account: hundredths of a second on the wall.
Clocks began() {
  long long ticks = 0;
  if (std::FILE* f = std::fopen("/proc/self/stat", "r")) {
    if (std::fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld", &ticks) != 1) ticks = 0;
    std::fclose(f);
  }
  return {static_cast<double>(ticks) * 10, 0};
}

// The weights alone, into memory that is fresh as theirs was.
Clocks reading(const char* path, size_t& bytes) {
  const Clocks before = now();
  const io::FileSource source(path);
  const io::ZipReader archive(source, path);
  std::vector<Tensor> kept;
  bytes = 0;
  for (const io::ZipEntry& e : archive.entries()) {
    if (e.name.find("data/weights/") == std::string::npos || e.size == 0) continue;
    kept.push_back(empty({static_cast<int64_t>(e.size)}, TensorOptions(kByte)));
    source.read(e.data_offset, kept.back().data_ptr(), e.size);
    bytes += e.size;
  }
  return now() - before;
}

void print(const char* name, Clocks c) { std::printf("%s\t%.1f\t%.1f\n", name, c.wall, c.processors); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: graph_start MODEL.pt2 TENSORS.safetensors\n"), 2;
  const Clocks started = now();
  const NoGradGuard no_gradients;
  const graph::ExportedProgram program = graph::load_program(argv[1]);
  const Clocks loaded = now();
  std::vector<graph::Datum> inputs;
  for (const auto& item : io::load_safetensors(argv[2]).tensors)
    if (item.key() == "input0") inputs.emplace_back(item.value().narrow(0, 0, 1).contiguous());
  const Clocks given = now();
  const Tensor first = program.run(inputs)[0].to_tensor();
  const Clocks ran = now();
  for (int i = 0; i < 2; i++) program.run(inputs);
  const Clocks warm = now();
  program.run(inputs);
  const Clocks again = now();
  size_t bytes = 0;
  const Clocks weights = reading(argv[1], bytes);
  std::printf("weights\t%zu bytes\n", bytes);
  print("start", started - began());
  print("load", loaded - started);
  print("reading_weights", weights);
  print("first_run", ran - given);
  print("warm_run", again - warm);
  return first.defined() ? 0 : 1;
}
