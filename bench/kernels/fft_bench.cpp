// Fourier transforms on one thread. bench/programs/fft.py times the same ones of the Python package and of PyTorch.

#include <string>

#include "bench.h"
#include "cresset/base/parallel.h"
#include "cresset/base/small_vector.h"
#include "cresset/kernels/fft/fft.h"

using namespace cresset;
using namespace cresset::kernels;

namespace {

template <class T> void time_rows(const char* type, int64_t rows, int64_t n, int64_t dim = 1) {
  constexpr ScalarType real = sizeof(T) == 4 ? kFloat : kDouble, complex = sizeof(T) == 4 ? kComplexFloat : kComplexDouble;
  std::vector<T> x(static_cast<size_t>(2 * rows * n)), y(static_cast<size_t>(2 * rows * (n + 1)));
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<T>(i * 7919 % 1000) / 1000 - T(0.5);
  const DimVector sizes{rows, n}, strides = dim == 1 ? DimVector{n, 1} : DimVector{1, rows}, packed{n, 1}, half_sizes{rows, n / 2 + 1},
                                  half_strides{n / 2 + 1, 1};
  const std::string where = std::string(type) + (dim == 1 ? " " : " columns ") + std::to_string(rows) + "x" + std::to_string(n);
  const auto time = [&](const char* op, auto f) {
    const std::string name = std::string(op) + " " + where;
    if (bench::wanted(name.c_str())) bench::row(name.c_str(), bench::seconds_per_call(f) * 1e6, "us");
  };
  time("fft", [&] { fft_c2c(Strided(y.data(), complex, sizes, packed), Strided(x.data(), complex, sizes, strides), {1}, true, 1.0); });
  time("rfft", [&] { fft_r2c(Strided(y.data(), complex, half_sizes, half_strides), Strided(x.data(), real, sizes, strides), {1}, 1.0); });
  time("irfft", [&] { fft_c2r(Strided(x.data(), real, sizes, packed), Strided(y.data(), complex, half_sizes, half_strides), 1, 1.0); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) bench::filter() = argv[1];
  set_num_threads(1);
  for (int64_t n = 1 << 10; n <= 1 << 20; n *= 4) time_rows<float>("float", 1, n);
  for (int64_t n = 1 << 10; n <= 1 << 20; n *= 4) time_rows<double>("double", 1, n);
  for (const int64_t n : {16, 64, 100, 256, 1000, 1009, 4096}) time_rows<float>("float", 1048576 / n / 4, n);
  for (const int64_t n : {64, 256, 1024}) time_rows<float>("float", 256, n, 0);
  for (const int64_t n : {64, 1000, 1024}) time_rows<double>("double", 256, n);
  return 0;
}
