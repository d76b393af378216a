// Softmax: rate over the bytes read and written once each on one thread. Usage: softmax_bench [part of a row's name]
#include "cresset/kernels/norm/softmax.h"

#include "bench/kernels/bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/isa.h"

using namespace cresset;
using namespace cresset::bench;

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  set_num_threads(argc > 2 ? std::atoi(argv[2]) : 1);
  std::printf("# instruction set %s, %d thread(s)\n", kernels::isa_name(), get_num_threads());
  const std::vector<float> in = random_floats(128 * 50257), grad = random_floats(128 * 50257, 2);
  std::vector<float> out(in.size()), back(in.size());
  const char *x = reinterpret_cast<const char*>(in.data()), *dy = reinterpret_cast<const char*>(grad.data());
  char *y = reinterpret_cast<char*>(out.data()), *dx = reinterpret_cast<char*>(back.data());
  struct {
    const char* name;
    int64_t outer, dim, inner;
  } cases[] = {{"128x10", 128, 10, 1}, {"4096x64", 4096, 64, 1}, {"1024x1024", 1024, 1024, 1}, {"128x50257", 128, 50257, 1}, {"64x21x1024_dim1", 64, 21, 1024}};
  for (const auto& c : cases) {
    const double bytes = 4.0 * static_cast<double>(c.outer * c.dim * c.inner);
    const auto rate = [&](const char* op, double count, auto f) {
      const std::string name = std::string(op) + "_" + c.name;
      if (wanted(name.c_str())) row(name.c_str(), count * bytes / seconds_per_call(f) * 1e-9, "GB/s");
    };
    rate("softmax", 2, [&] { kernels::softmax(x, y, kFloat, c.outer, c.dim, c.inner); });
    rate("softmax_backward", 3, [&] { kernels::softmax_backward(dy, y, dx, kFloat, c.outer, c.dim, c.inner); });
    rate("log_softmax", 2, [&] { kernels::log_softmax(x, y, kFloat, c.outer, c.dim, c.inner); });
    rate("log_softmax_backward", 3, [&] { kernels::log_softmax_backward(dy, y, dx, kFloat, c.outer, c.dim, c.inner); });
  }
}
