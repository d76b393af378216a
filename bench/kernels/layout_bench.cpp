// Joining, turning, padding and resizing on one thread.

#include "bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/layout/layout.h"

using namespace cresset;
using namespace cresset::kernels;

namespace {

struct Tensor {
  std::vector<float> values;
  DimVector sizes, strides;
  Tensor(std::initializer_list<int64_t> shape) : sizes(shape), strides(contiguous_strides(sizes)) {
    size_t n = 1;
    for (int64_t s : shape) n *= static_cast<size_t>(s);
    values = bench::random_floats(n);
  }
  Strided view() const { return Strided(values.data(), kFloat, sizes, strides); }
};

template <class F> void time_us(const char* name, F f) {
  if (bench::wanted(name)) bench::row(name, bench::seconds_per_call(f) * 1e6, "us");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) bench::filter() = argv[1];
  set_num_threads(1);
  const Tensor square({1024, 1024}), half({1024, 512}), thin({100000, 2}), column({100000, 1});
  Tensor out({1024, 1024}), tall({2048, 1024}), wide({1024, 2048}), pair({100000, 4}), joined({100000, 2});
  const Strided two[] = {square.view(), square.view()}, halves[] = {half.view(), half.view()}, thins[] = {thin.view(), thin.view()};
  const Strided columns[] = {column.view(), column.view()};
  const int64_t both[] = {0, 1}, last[] = {1}, first[] = {0}, shift[] = {100, 100}, twice[] = {1, 2};
  time_us("cat 2 x 1024x1024 dim 0", [&] { cat(tall.view(), two, 0); });
  time_us("cat 2 x 1024x512 dim 1", [&] { cat(out.view(), halves, 1); });
  time_us("cat 2 x 100000x2 dim 1", [&] { cat(pair.view(), thins, 1); });
  time_us("cat 2 x 100000x1 dim 1", [&] { cat(joined.view(), columns, 1); });
  time_us("flip 1024x1024 rows", [&] { flip(out.view(), square.view(), first); });
  time_us("flip 1024x1024 columns", [&] { flip(out.view(), square.view(), last); });
  time_us("roll 1024x1024 both", [&] { roll(out.view(), square.view(), shift, both); });
  time_us("repeat 1024x1024 by 1x2", [&] { repeat(wide.view(), square.view(), twice); });
  time_us("tril 1024x1024", [&] { tril(out.view(), square.view(), 0); });
  Tensor line({1 << 20});
  time_us("arange 1M", [&] { arange(line.view(), 0, 1); });
  time_us("linspace 1M", [&] { linspace(line.view(), 0, 1); });
  const Tensor image({8, 64, 56, 56});
  Tensor padded({8, 64, 58, 58}), doubled({8, 64, 112, 112}), grad({8, 64, 56, 56}), unfolded({8, 576, 3136});
  const int64_t ones[] = {1, 1, 1, 1};
  time_us("pad constant 8x64x56x56", [&] { pad_constant(padded.view(), image.view(), ones, 0); });
  time_us("pad reflect 8x64x56x56", [&] { pad(padded.view(), image.view(), ones, PadMode::reflect); });
  time_us("pad reflect backward", [&] { pad_backward(grad.view(), padded.view(), ones, PadMode::reflect); });
  ResizeOptions options;
  time_us("upsample nearest x2", [&] { resize(doubled.view(), image.view(), options); });
  time_us("upsample nearest x2 backward", [&] { resize_backward(grad.view(), doubled.view(), options); });
  options.mode = ResizeMode::linear;
  time_us("upsample bilinear x2", [&] { resize(doubled.view(), image.view(), options); });
  time_us("upsample bilinear x2 backward", [&] { resize_backward(grad.view(), doubled.view(), options); });
  options.mode = ResizeMode::cubic;
  time_us("upsample bicubic x2", [&] { resize(doubled.view(), image.view(), options); });
  const Window2d window{{3, 3}, {1, 1}, {1, 1}, {1, 1}};
  time_us("im2col 3x3 8x64x56x56", [&] { im2col(unfolded.view(), image.view(), window); });
  time_us("col2im 3x3 8x64x56x56", [&] { col2im(grad.view(), unfolded.view(), window); });
  return 0;
}
