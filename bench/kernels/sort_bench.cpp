// Sorting and selection on one thread.

#include "bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/sort/sort.h"

using namespace cresset;
using namespace cresset::kernels;

namespace {

template <class F> void time_ms(const char* name, F f) {
  if (bench::wanted(name)) bench::row(name, bench::seconds_per_call(f) * 1e3, "ms");
}

template <class T> void time_sort(const char* name, const std::vector<T>& x, std::initializer_list<int64_t> shape, int64_t dim, bool descending = false) {
  std::vector<T> values(x.size());
  std::vector<int64_t> indices(x.size());
  const DimVector sizes(shape), strides = contiguous_strides(sizes);
  time_ms(name, [&] {
    sort(Strided(values.data(), dtype_of<T>, sizes, strides), Strided(indices.data(), kLong, sizes, strides), Strided(x.data(), dtype_of<T>, sizes, strides),
         dim, descending);
  });
}

void time_topk(const char* name, const std::vector<float>& x, int64_t rows, int64_t n, int64_t k) {
  std::vector<float> values(static_cast<size_t>(rows * k));
  std::vector<int64_t> indices(values.size());
  const DimVector sizes{rows, n}, strides{n, 1}, out_sizes{rows, k}, out_strides{k, 1};
  time_ms(name, [&] {
    topk(Strided(values.data(), kFloat, out_sizes, out_strides), Strided(indices.data(), kLong, out_sizes, out_strides),
         Strided(x.data(), kFloat, sizes, strides), k, 1, true, true);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) bench::filter() = argv[1];
  set_num_threads(1);
  constexpr size_t kN = 1000000;
  const std::vector<float> floats = bench::random_floats(kN);
  const std::vector<double> doubles(floats.begin(), floats.end());
  std::mt19937_64 gen(5);
  std::vector<int64_t> wide(kN), narrow(kN);
  std::vector<double> random_doubles(kN);
  std::vector<uint8_t> bytes(kN);
  for (size_t i = 0; i < kN; i++) {
    wide[i] = static_cast<int64_t>(gen());
    narrow[i] = static_cast<int64_t>(gen() % 1000);
    random_doubles[i] = static_cast<double>(gen()) * 0x1p-64;
    bytes[i] = static_cast<uint8_t>(gen());
  }
  time_sort("sort 1M float", floats, {kN}, 0);
  time_sort("sort 1M float descending", floats, {kN}, 0, true);
  time_sort("sort 1M double", random_doubles, {kN}, 0);
  time_sort("sort 1M int64 wide", wide, {kN}, 0);
  time_sort("sort 1M int64 below 1000", narrow, {kN}, 0);
  time_sort("sort 1M uint8", bytes, {kN}, 0);
  time_sort("sort 10k float", std::vector<float>(floats.begin(), floats.begin() + 10000), {10000}, 0);
  time_sort("sort 10k double", std::vector<double>(random_doubles.begin(), random_doubles.begin() + 10000), {10000}, 0);
  time_sort("sort 10000x100 float", floats, {10000, 100}, 1);
  time_sort("sort 50000x20 float", floats, {50000, 20}, 1);
  time_sort("sort 1000x1000 float", floats, {1000, 1000}, 1);
  time_sort("sort 1000x1000 float dim 0", floats, {1000, 1000}, 0);
  time_topk("topk 50 of 50257", floats, 1, 50257, 50);
  time_topk("topk 10 of 1M", floats, 1, kN, 10);
  time_topk("topk 5 of 1000x1000", floats, 1000, 1000, 5);
  time_topk("topk 500 of 1000x1000", floats, 1000, 1000, 500);
  std::vector<float> value(1);
  std::vector<int64_t> place(1), counts(kN), inverse(kN), found(kN);
  std::vector<int64_t> distinct(kN);
  const DimVector one{1}, n{kN}, hundred{100};
  time_ms("median 1M",
          [&] { median(Strided(value.data(), kFloat, one, one), Strided(place.data(), kLong, one, one), Strided(floats.data(), kFloat, n, one), 0, false); });
  time_ms("unique 1M int64 below 1000", [&] { unique(distinct.data(), inverse.data(), counts.data(), Strided(narrow.data(), kLong, n, one)); });
  std::vector<float> edges(100);
  for (size_t i = 0; i < 100; i++) edges[i] = static_cast<float>(i) * 0.01f - 0.5f;
  time_ms("bucketize 1M into 100", [&] {
    searchsorted(Strided(found.data(), kLong, n, one), Strided(edges.data(), kFloat, hundred, one), Strided(floats.data(), kFloat, n, one), false);
  });
  std::vector<float> bins(100);
  time_ms("histc 1M into 100", [&] { histc(Strided(bins.data(), kFloat, hundred, one), Strided(floats.data(), kFloat, n, one), -0.5, 0.5); });
  return 0;
}
