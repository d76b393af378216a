// Indexing kernels on one thread.

#include "bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/index/index.h"

using namespace cresset;
using namespace cresset::kernels;

namespace {

std::vector<int64_t> random_index(int64_t n, int64_t size) {
  std::mt19937_64 gen(7);
  std::vector<int64_t> v(static_cast<size_t>(n));
  for (auto& x : v) x = static_cast<int64_t>(gen() % static_cast<uint64_t>(size));
  return v;
}

template <class T> struct Tensor {
  std::vector<T> values;
  DimVector sizes, strides;
  Tensor(std::initializer_list<int64_t> shape) : sizes(shape), strides(contiguous_strides(sizes)) {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    values.resize(static_cast<size_t>(n));
  }
  Tensor(std::initializer_list<int64_t> shape, std::vector<T> data) : values(std::move(data)), sizes(shape), strides(contiguous_strides(sizes)) {}
  Strided view() const { return Strided(values.data(), dtype_of<T>, sizes, strides); }
};

Tensor<float> random_tensor(std::initializer_list<int64_t> shape) {
  Tensor<float> t(shape);
  t.values = bench::random_floats(t.values.size());
  return t;
}

template <class F> void time_ms(const char* name, F f) {
  if (bench::wanted(name)) bench::row(name, bench::seconds_per_call(f) * 1e3, "ms");
}

template <class F> void time_gbs(const char* name, double bytes, F f) {
  if (bench::wanted(name)) bench::row(name, bytes / bench::seconds_per_call(f) * 1e-9, "GB/s");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) bench::filter() = argv[1];
  set_num_threads(1);
  constexpr int64_t kN = 1 << 20;
  const auto x = random_tensor({kN}), square = random_tensor({1024, 1024});
  Tensor<float> out = random_tensor({kN}), out2 = random_tensor({1024, 1024});
  const Tensor<int64_t> flat({kN}, random_index(kN, kN)), grid({1024, 1024}, random_index(kN, 1024));
  std::mt19937 gen(3);
  const auto mask_of = [&](unsigned one_in) {
    std::vector<uint8_t> m(kN);
    for (auto& v : m) v = gen() % one_in == 0;
    return m;
  };
  const Tensor<uint8_t> half({kN}, mask_of(2)), tenth({kN}, mask_of(10));
  const Tensor<uint8_t> half2({1024, 1024}, mask_of(2));

  time_ms("gather 1M 1-d", [&] { gather(out.view(), x.view(), 0, flat.view()); });
  time_ms("gather 1024x1024 dim 0", [&] { gather(out2.view(), square.view(), 0, grid.view()); });
  time_ms("gather 1024x1024 dim 1", [&] { gather(out2.view(), square.view(), 1, grid.view()); });
  time_ms("scatter 1024x1024 dim 1", [&] { scatter(out2.view(), 1, grid.view(), square.view()); });
  time_ms("scatter_add 1M 1-d", [&] { scatter_add(out.view(), 0, flat.view(), x.view()); });
  time_ms("scatter_add 1024x1024 dim 0", [&] { scatter_add(out2.view(), 0, grid.view(), square.view()); });
  time_ms("scatter_add 1024x1024 dim 1", [&] { scatter_add(out2.view(), 1, grid.view(), square.view()); });
  time_ms("index 1M 1-d", [&] { index(out.view(), x.view(), flat.view()); });
  time_ms("index_put 1M 1-d", [&] { index_put(out.view(), flat.view(), x.view(), false); });
  time_ms("index_put accumulate 1M 1-d", [&] { index_put(out.view(), flat.view(), x.view(), true); });
  time_ms("take 1M", [&] { take(out.view(), x.view(), flat.view()); });

  const auto weight = random_tensor({50257, 768}), table = random_tensor({10000, 64});
  const Tensor<int64_t> tokens({1024}, random_index(1024, 50257)), ids({8192}, random_index(8192, 10000));
  Tensor<float> rows = random_tensor({1024, 768}), small_rows = random_tensor({8192, 64}), grad_table = random_tensor({10000, 64});
  const double row_bytes = 1024.0 * 768 * 4 * 2, small_bytes = 8192.0 * 64 * 4 * 2;
  time_gbs("embedding 1024 of 50257x768", row_bytes, [&] { embedding(rows.view(), weight.view(), tokens.view()); });
  time_gbs("embedding 8192 of 10000x64", small_bytes, [&] { embedding(small_rows.view(), table.view(), ids.view()); });
  time_gbs("index_select 8192 of 10000x64", small_bytes, [&] { index_select(small_rows.view(), table.view(), 0, ids.view()); });
  time_gbs("index rows 8192 of 10000x64", small_bytes, [&] { index(small_rows.view(), table.view(), ids.view()); });
  time_ms("index_add 8192 to 10000x64", [&] { index_add(grad_table.view(), 0, ids.view(), small_rows.view(), 1); });
  time_ms("embedding_backward 8192 to 10000x64", [&] { embedding_backward(grad_table.view(), small_rows.view(), ids.view(), -1, false); });

  std::vector<float> selected(kN);
  std::vector<int64_t> places(2 * kN);
  time_ms("count_nonzero 1M bool", [&] { count_nonzero(half.view()); });
  time_ms("count_nonzero 1M float", [&] { count_nonzero(x.view()); });
  time_ms("masked_select 1M half", [&] { masked_select(selected.data(), x.view(), half.view()); });
  time_ms("masked_select 1M tenth", [&] { masked_select(selected.data(), x.view(), tenth.view()); });
  time_ms("nonzero 1M half", [&] { nonzero(places.data(), count_nonzero(half.view()), half.view()); });
  time_ms("nonzero 1M tenth", [&] { nonzero(places.data(), count_nonzero(tenth.view()), tenth.view()); });
  time_ms("nonzero 1024x1024 half", [&] { nonzero(places.data(), count_nonzero(half2.view()), half2.view()); });
  time_ms("masked_fill 1M half", [&] { masked_fill(out.view(), half.view(), 1); });
  time_ms("masked_scatter 1M half", [&] { masked_scatter(out.view(), half.view(), x.values.data(), kN); });
  return 0;
}
