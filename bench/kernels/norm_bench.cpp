// Normalisation: rate over the bytes that have to be read and written once, on one thread. Usage: norm_bench [part of a row's name]
#include "cresset/kernels/norm/norm.h"

#include "bench/kernels/bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/isa.h"

using namespace cresset;
using namespace cresset::bench;
using namespace cresset::kernels;

namespace {

template <class F> void rate(const char* name, double bytes, F f) {
  if (wanted(name)) row(name, bytes / seconds_per_call(f) * 1e-9, "GB/s");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  set_num_threads(1);
  std::printf("# instruction set %s\n", isa_name());
  const int64_t rows = 4096, cols = 768, n = 8, channels = 64, spatial = 56 * 56;
  const auto size = static_cast<size_t>(rows * cols);
  const std::vector<float> in = random_floats(size), grad = random_floats(size, 2), weights = random_floats(size, 3);
  std::vector<float> out(size), back(size), means(4096), roots(4096, 1), dw(4096), db(4096);
  const char *x = reinterpret_cast<const char*>(in.data()), *dy = reinterpret_cast<const char*>(grad.data()),
             *w = reinterpret_cast<const char*>(weights.data());
  char *y = reinterpret_cast<char*>(out.data()), *dx = reinterpret_cast<char*>(back.data()), *m = reinterpret_cast<char*>(means.data()),
       *s = reinterpret_cast<char*>(roots.data()), *gw = reinterpret_cast<char*>(dw.data()), *gb = reinterpret_cast<char*>(db.data());
  const NormDtypes t;
  const double layer = 4.0 * static_cast<double>(size), batch = 4.0 * static_cast<double>(n * channels * spatial);
  rate("layer_norm_4096x768", 2 * layer, [&] { layer_norm({x, w, w, y, m, s, t, rows, cols, 1e-5}); });
  rate("layer_norm_backward_4096x768", 3 * layer, [&] { layer_norm_backward({dy, x, m, s, w, dx, gw, gb, t, rows, cols}); });
  rate("rms_norm_4096x768", 2 * layer, [&] { rms_norm({x, w, y, s, t, rows, cols, 1e-5}); });
  rate("group_norm_8x64x56x56_g8", 2 * batch, [&] { group_norm({x, w, w, y, m, s, t, n, channels, spatial, 8, 1e-5}); });
  rate("group_norm_backward_8x64x56x56_g8", 3 * batch, [&] { group_norm_backward({dy, x, m, s, w, dx, gw, gb, t, n, channels, spatial, 8}); });
  rate("batch_norm_train_8x64x56x56", 2 * batch, [&] { batch_norm_train({x, w, w, y, m, s, nullptr, nullptr, t, n, channels, spatial, 0.1, 1e-5}); });
  rate("batch_norm_eval_8x64x56x56", 2 * batch, [&] { batch_norm_eval({x, w, w, m, s, y, t, n, channels, spatial, 1e-5}); });
  rate("batch_norm_backward_8x64x56x56", 3 * batch, [&] { batch_norm_backward({dy, x, w, m, s, dx, gw, gb, t, n, channels, spatial, true}); });
  rate("batch_norm_train_4096x768", 2 * layer, [&] { batch_norm_train({x, w, w, y, m, s, nullptr, nullptr, t, rows, cols, 1, 0.1, 1e-5}); });
  rate("batch_norm_backward_4096x768", 3 * layer, [&] { batch_norm_backward({dy, x, w, m, s, dx, gw, gb, t, rows, cols, 1, true}); });
}
