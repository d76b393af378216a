// Matrix products: rate per shape on one thread. Usage: gemm_bench [part of a row's name]
#include "bench/kernels/fma_limit.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/gemm/gemm.h"
#include "cresset/kernels/isa.h"

using namespace cresset;
using namespace cresset::bench;

namespace {

struct Shape {
  const char* name;
  int64_t m, n, k;
  bool trans_a, trans_b;
  int64_t batch;
};

constexpr Shape kShapes[] = {
    {"mm_4", 4, 4, 4, false, false, 1},
    {"mm_16", 16, 16, 16, false, false, 1},
    {"mm_32", 32, 32, 32, false, false, 1},
    {"mm_64", 64, 64, 64, false, false, 1},
    {"mm_128", 128, 128, 128, false, false, 1},
    {"mm_256", 256, 256, 256, false, false, 1},
    {"mm_512", 512, 512, 512, false, false, 1},
    {"mm_1024", 1024, 1024, 1024, false, false, 1},
    {"mm_2048", 2048, 2048, 2048, false, false, 1},
    {"mm_1000", 1000, 1000, 1000, false, false, 1},
    {"mm_nt_512", 512, 512, 512, false, true, 1},
    {"mm_tn_512", 512, 512, 512, true, false, 1},
    {"mm_tt_512", 512, 512, 512, true, true, 1},
    {"linear_128x768x768", 128, 768, 768, false, true, 1},
    {"linear_512x3072x768", 512, 3072, 768, false, true, 1},
    {"linear_768x128x768_nt", 768, 128, 768, false, true, 1},
    {"linear_768x384x384", 768, 384, 384, false, true, 1},
    {"linear_128x512x784", 128, 512, 784, false, true, 1},
    {"grad_weight_512x784x128", 512, 784, 128, true, false, 1},
    {"grad_input_128x784x512", 128, 784, 512, false, false, 1},
    {"linear_128x10x512", 128, 10, 512, false, true, 1},
    {"linear_64x128x9216", 64, 128, 9216, false, true, 1},
    {"grad_weight_128x9216x64", 128, 9216, 64, true, false, 1},
    {"linear_32x512x128", 32, 512, 128, false, true, 1},
    {"linear_8x4096x4096", 8, 4096, 4096, false, true, 1},
    {"linear_1x4096x4096", 1, 4096, 4096, false, true, 1},
    {"vec_mat_4096", 1, 4096, 4096, false, false, 1},
    {"mat_vec_4096", 4096, 1, 4096, false, false, 1},
    {"bmm_48x128x128x64", 128, 128, 64, false, false, 48},
    {"bmm_48x64x64x32_nt", 64, 64, 32, false, true, 48},
};

void run(const char* prefix, ScalarType dtype, const Shape& s, const void* a, const void* b, void* c) {
  char name[96];
  std::snprintf(name, sizeof name, "%s%s", prefix, s.name);
  if (!wanted(name)) return;
  const Scalar one = 1, zero = 0;
  const double t = seconds_per_call([&] {
    kernels::gemm_batched(dtype, s.trans_a, s.trans_b, s.m, s.n, s.k, one, a, s.trans_a ? s.m : s.k, s.m * s.k, b, s.trans_b ? s.k : s.n, s.n * s.k, zero, c,
                          s.n, s.m * s.n, s.batch);
  });
  row(name, t * 1e6, "us");
  std::strcat(name, ".flop");
  row(name, 2.0 * static_cast<double>(s.m * s.n * s.k * s.batch) / t / 1e9, "GFLOP/s");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter() = argv[1];
  if (argc > 2) set_num_threads(std::atoi(argv[2]));
  else set_num_threads(1);
  row("fma_limit", fma_limit(), "GFLOP/s");
  size_t most_a = 0, most_b = 0, most_c = 0;
  for (const Shape& s : kShapes) {
    most_a = std::max(most_a, static_cast<size_t>(s.m * s.k * s.batch));
    most_b = std::max(most_b, static_cast<size_t>(s.n * s.k * s.batch));
    most_c = std::max(most_c, static_cast<size_t>(s.m * s.n * s.batch));
  }
  const auto a32 = random_floats(most_a, 1), b32 = random_floats(most_b, 2);
  std::vector<float> c32(most_c);
  for (const Shape& s : kShapes) run("sgemm_", ScalarType::Float, s, a32.data(), b32.data(), c32.data());
  const std::vector<double> a64(a32.begin(), a32.end()), b64(b32.begin(), b32.end());
  std::vector<double> c64(most_c);
  const std::vector<BFloat16> a16(a32.begin(), a32.end()), b16(b32.begin(), b32.end());
  std::vector<BFloat16> c16(most_c);
  for (const Shape& s : kShapes) {
    run("bf16_", ScalarType::BFloat16, s, a16.data(), b16.data(), c16.data());
    if (s.m * s.n * s.k * s.batch <= (int64_t{1} << 30)) run("dgemm_", ScalarType::Double, s, a64.data(), b64.data(), c64.data());
  }
  const std::vector<Half> ah(a32.begin(), a32.end()), bh(b32.begin(), b32.end());
  std::vector<Half> ch(most_c);
  for (int i : {5, 6, 13}) run("half_", ScalarType::Half, kShapes[i], ah.data(), bh.data(), ch.data());
  std::vector<int64_t> al(1 << 20, 3), bl(1 << 20, 5), cl(1 << 20);
  for (int i : {0, 5, 6}) {
    run("int64_", ScalarType::Long, kShapes[i], al.data(), bl.data(), cl.data());
    run("int32_", ScalarType::Int, kShapes[i], al.data(), bl.data(), cl.data());
    run("int8_", ScalarType::Char, kShapes[i], al.data(), bl.data(), cl.data());
    run("complex64_", ScalarType::ComplexFloat, kShapes[i], a32.data(), b32.data(), c32.data());
  }
}
