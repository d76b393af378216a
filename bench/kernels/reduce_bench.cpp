// Reductions: rate over the bytes read (scans: read and written) on one thread. Usage: reduce_bench [part of a row's name]
#include "cresset/kernels/reduce/reduce.h"

#include "bench/kernels/bench.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/isa.h"

using namespace cresset;
using namespace cresset::bench;
using kernels::ReduceOp;

namespace {

template <class F> void rate(const char* name, double bytes, F f) {
  if (wanted(name)) row(name, bytes / seconds_per_call(f) * 1e-9, "GB/s");
}

struct Case {
  const char* name;
  ReduceOp op;
  std::vector<int64_t> shape;
  uint64_t mask;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  set_num_threads(argc > 2 ? std::atoi(argv[2]) : 1);
  std::printf("# instruction set %s, %d thread(s)\n", kernels::isa_name(), get_num_threads());
  std::vector<float> in = random_floats(16 << 20), out(16 << 20);
  std::vector<int64_t> indices(1 << 20);
  const char* p = reinterpret_cast<const char*>(in.data());
  char* q = reinterpret_cast<char*>(out.data());
  char* idx = reinterpret_cast<char*>(indices.data());

  const Case cases[] = {
      {"sum_10", ReduceOp::sum, {10}, 1},
      {"sum_10k", ReduceOp::sum, {10000}, 1},
      {"sum_1M", ReduceOp::sum, {1 << 20}, 1},
      {"sum_16M", ReduceOp::sum, {16 << 20}, 1},
      {"sum_1024x1024_dim1", ReduceOp::sum, {1024, 1024}, 2},
      {"sum_1024x1024_dim0", ReduceOp::sum, {1024, 1024}, 1},
      {"sum_4096x4096_dim1", ReduceOp::sum, {4096, 4096}, 2},
      {"sum_4096x4096_dim0", ReduceOp::sum, {4096, 4096}, 1},
      {"sum_65536x16_dim0", ReduceOp::sum, {65536, 16}, 1},
      {"sum_65536x16_dim1", ReduceOp::sum, {65536, 16}, 2},
      {"sum_262144x4_dim1", ReduceOp::sum, {262144, 4}, 2},
      {"sum_32x64x512_dim02", ReduceOp::sum, {32, 64, 512}, 5},
      {"mean_1M", ReduceOp::mean, {1 << 20}, 1},
      {"max_1M", ReduceOp::max, {1 << 20}, 1},
      {"prod_1M", ReduceOp::prod, {1 << 20}, 1},
      {"norm2_1M", ReduceOp::norm, {1 << 20}, 1},
  };
  for (const Case& c : cases) {
    std::vector<int64_t> strides(c.shape.size()), out_strides(c.shape.size(), 0);
    int64_t numel = 1, kept = 1;
    for (size_t d = c.shape.size(); d-- > 0;) {
      strides[d] = numel * 4;
      numel *= c.shape[d];
      if (!(c.mask >> d & 1)) out_strides[d] = kept * 4, kept *= c.shape[d];
    }
    const kernels::ReduceArgs args{p, q, kFloat, kFloat, c.shape, strides, c.mask, out_strides, 2.0};
    rate(c.name, static_cast<double>(numel) * 4, [&] { kernels::reduce(c.op, args); });
  }

  const int64_t n[] = {1 << 20}, s1[] = {1}, s2[] = {2}, s4[] = {4}, s8[] = {8};
  const auto flat = [&](const char* name, ReduceOp op, ScalarType from, ScalarType to, const int64_t(&stride)[1]) {
    const kernels::ReduceArgs args{p, q, from, to, n, stride, 1, s8, {}};
    rate(name, static_cast<double>(stride[0]) * (1 << 20), [&] { kernels::reduce(op, args); });
  };
  std::vector<char> flags(1 << 20, 1);
  flat("sum_1M_half", ReduceOp::sum, kHalf, kHalf, s2);
  flat("sum_1M_bfloat16", ReduceOp::sum, kBFloat16, kBFloat16, s2);
  flat("sum_1M_int64", ReduceOp::sum, kLong, kLong, s8);
  flat("sum_1M_uint8", ReduceOp::sum, kByte, kLong, s1);
  {
    const kernels::ReduceArgs args{flags.data(), q, kBool, kBool, n, s1, 1, s8, {}}, sums{flags.data(), q, kBool, kLong, n, s1, 1, s8, {}};
    rate("all_1M", 1 << 20, [&] { kernels::reduce(ReduceOp::all, args); });
    rate("sum_1M_bool", 1 << 20, [&] { kernels::reduce(ReduceOp::sum, sums); });
    rate("count_nonzero_1M_bool", 1 << 20, [&] { kernels::reduce(ReduceOp::count_nonzero, sums); });
  }
  rate("argmax_1M", 4 << 20, [&] { kernels::arg_reduce(true, {p, nullptr, idx, kFloat, n, s4, -1, {}, {}}); });
  const int64_t square[] = {1024, 1024}, rows[] = {4096, 4}, by_dim0[] = {0, 8}, by_dim1[] = {8, 0}, by_dim0_f[] = {0, 4}, by_dim1_f[] = {4, 0};
  rate("max_with_index_1024x1024_dim1", 4 << 20, [&] { kernels::arg_reduce(true, {p, q, idx, kFloat, square, rows, 1, by_dim1_f, by_dim1}); });
  rate("max_with_index_1024x1024_dim0", 4 << 20, [&] { kernels::arg_reduce(true, {p, q, idx, kFloat, square, rows, 0, by_dim0_f, by_dim0}); });
  rate("var_1M", 4 << 20, [&] { kernels::var_mean({p, q, nullptr, kFloat, n, s4, 1, s4, {}, 1, false}); });
  rate("var_1024x1024_dim1", 4 << 20, [&] { kernels::var_mean({p, q, nullptr, kFloat, square, rows, 2, by_dim1_f, {}, 1, false}); });
  rate("var_1024x1024_dim0", 4 << 20, [&] { kernels::var_mean({p, q, nullptr, kFloat, square, rows, 1, by_dim0_f, {}, 1, false}); });
  rate("cumsum_1M", 8 << 20, [&] { kernels::cumulative(kernels::CumOp::sum, {p, q, nullptr, kFloat, kFloat, n, s4, s4, {}, 0}); });
  rate("cumsum_1024x1024_dim0", 8 << 20, [&] { kernels::cumulative(kernels::CumOp::sum, {p, q, nullptr, kFloat, kFloat, square, rows, rows, {}, 0}); });
  rate("cummax_1M", 16 << 20, [&] { kernels::cumulative(kernels::CumOp::max, {p, q, idx, kFloat, kFloat, n, s4, s4, s8, 0}); });
}
