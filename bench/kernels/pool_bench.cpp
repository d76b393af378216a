// Pooling: time per call on one thread. Usage: pool_bench [part of a row's name]
#include "cresset/kernels/pool/pool.h"

#include "bench/kernels/bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/isa.h"

using namespace cresset;
using namespace cresset::bench;
using kernels::PoolShape;

namespace {

PoolShape square(int64_t planes, int64_t in, int64_t kernel, int64_t stride, int64_t padding) {
  PoolShape s;
  s.planes = planes;
  for (int d = 1; d < 3; d++) {
    s.in[d] = in;
    s.kernel[d] = kernel;
    s.stride[d] = stride;
    s.padding[d] = padding;
    s.out[d] = (in + 2 * padding - kernel) / stride + 1;
  }
  return s;
}

template <class F> void time(const char* name, F f) {
  if (wanted(name)) row(name, seconds_per_call(f) * 1e3, "ms");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  set_num_threads(argc > 2 ? std::atoi(argv[2]) : 1);
  std::printf("# instruction set %s, %d thread(s)\n", kernels::isa_name(), get_num_threads());
  std::vector<float> in = random_floats(4 << 20), out(4 << 20), grad(4 << 20);
  std::vector<int64_t> indices(4 << 20);
  const char* x = reinterpret_cast<const char*>(in.data());
  char *y = reinterpret_cast<char*>(out.data()), *dx = reinterpret_cast<char*>(grad.data());
  struct {
    const char* name;
    PoolShape shape;
  } cases[] = {{"64x112x112_k3s2", square(64, 112, 3, 2, 1)}, {"4096x24x24_k2", square(4096, 24, 2, 2, 0)}, {"512x56x56_k3s1", square(512, 56, 3, 1, 1)}};
  for (const auto& c : cases) {
    const std::string n = c.name;
    time(("max_pool_" + n).c_str(), [&] { kernels::max_pool(x, y, indices.data(), kFloat, c.shape); });
    time(("max_pool_backward_" + n).c_str(),
         [&] { kernels::max_pool_backward(y, indices.data(), dx, kFloat, c.shape.planes, c.shape.in_size(), c.shape.out_size()); });
    time(("avg_pool_" + n).c_str(), [&] { kernels::avg_pool(x, y, kFloat, c.shape, true, 0); });
    time(("avg_pool_backward_" + n).c_str(), [&] { kernels::avg_pool_backward(y, dx, kFloat, c.shape, true, 0); });
  }
  PoolShape global = square(512 * 8, 7, 7, 7, 0), uneven = square(512, 32, 1, 1, 0);
  uneven.out[1] = uneven.out[2] = 7;
  time("adaptive_avg_4096x7x7_to_1", [&] { kernels::adaptive_avg_pool(x, y, kFloat, global); });
  time("adaptive_avg_512x32x32_to_7", [&] { kernels::adaptive_avg_pool(x, y, kFloat, uneven); });
  time("adaptive_max_512x32x32_to_7", [&] { kernels::adaptive_max_pool(x, y, indices.data(), kFloat, uneven); });
}
