#include "cresset/kernels/pointwise.h"

#include <gtest/gtest.h>

#include <vector>

namespace cresset::kernels {
namespace {

TEST(Pointwise, AddsContiguousFloats) {
  for (int isa = active_isa(); isa >= 0; isa--) {
    const int before = detail::g_isa;
    detail::g_isa = isa;
    for (int64_t n : {0, 1, 3, 8, 17, 1000, 100000}) {
      std::vector<float> a(n), b(n), out(n, -1);
      for (int64_t i = 0; i < n; i++) a[i] = i * 0.5f, b[i] = 3.0f - i;
      const int64_t shape[] = {n}, stride[] = {4};
      const Operand ops[] = {{reinterpret_cast<char*>(out.data()), kFloat, stride}, {reinterpret_cast<char*>(a.data()), kFloat, stride},
                             {reinterpret_cast<char*>(b.data()), kFloat, stride}};
      const ScalarType types[] = {kFloat, kFloat, kFloat};
      const Scalar alpha = 2;
      run_nd(shape, ops, 1, types, add_kernel.loop(kFloat), &alpha);
      for (int64_t i = 0; i < n; i++) ASSERT_EQ(out[i], a[i] + 2 * b[i]) << i;
    }
    detail::g_isa = before;
  }
}

}  // namespace
}  // namespace cresset::kernels
