#include "cresset/kernels/iter/nd_iter.h"

#include <gtest/gtest.h>

#include <random>

#include "cresset/kernels/pointwise/pointwise_kernels.h"
#include "tests/kernels/strided_array.h"

namespace cresset::kernels {
namespace {

using testing::Array;
using testing::Layout;
using testing::Shape;

template <class T> Operand operand(Array<T>& a, Shape& byte_strides) {
  byte_strides.clear();
  for (const int64_t s : a.strides) byte_strides.push_back(s * static_cast<int64_t>(sizeof(T)));
  return {reinterpret_cast<char*>(a.data()), dtype_of<T>, byte_strides.data()};
}

// out = a + alpha * b by the kernel, with any dtypes and layouts; b may broadcast through zero strides.
template <class To, class A, class B> void add(Array<To>& out, Array<A>& a, Array<B>& b, ScalarType compute, const Scalar& alpha = 1) {
  Shape s0, s1, s2;
  const Operand operands[] = {operand(out, s0), operand(a, s1), operand(b, s2)};
  const ScalarType types[] = {compute, compute, compute};
  run_nd(out.sizes, operands, 1, types, add_kernel.loop(compute), &alpha);
}

template <class F> void for_each_isa(F f) {
  const int best = active_isa();
  for (int isa = best; isa >= 0; isa--) {
    detail::g_isa = isa;
    f();
  }
  detail::g_isa = best;
}

const Shape kShapes[] = {{}, {0}, {1}, {7}, {3, 0, 2}, {1, 1}, {5, 1, 3}, {2, 3, 4}, {33, 17}, {300, 3}, {3, 300}, {2, 3, 4, 5, 6}, {1, 40000}, {70, 700}};

TEST(NdIter, EveryPairOfLayoutsAgreesWithTheDefinition) {
  std::mt19937 rng(1);
  for_each_isa([&] {
    for (const Shape& shape : kShapes)
      for (const Layout out_layout : testing::kLayouts)
        for (const Layout a_layout : testing::kLayouts) {
          Array<float> out(shape, out_layout), a(shape, a_layout), b(shape);
          a.randomize(rng);
          b.randomize(rng);
          const std::vector<unsigned char> before = out.bytes;
          add(out, a, b, kFloat, 2);
          out.for_each([&](const Shape& at) { ASSERT_EQ(out(at), a(at) + 2 * b(at)); });
          // Gaps between elements are left alone.
          out.for_each([&](const Shape& at) { out(at) = 0; });
          ASSERT_EQ(out.bytes, before);
        }
  });
}

TEST(NdIter, ZeroStridesBroadcastAlongAnyDimension) {
  std::mt19937 rng(2);
  for_each_isa([&] {
    for (const Shape& shape : kShapes) {
      if (shape.empty()) continue;
      for (unsigned dims = 0; dims < (1u << shape.size()); dims++) {
        Array<float> out(shape), a(shape), b(shape);
        a.randomize(rng);
        b.randomize(rng);
        for (size_t d = 0; d < shape.size(); d++)
          if (dims >> d & 1) b.strides[d] = 0;
        add(out, a, b, kFloat);
        out.for_each([&](const Shape& at) { ASSERT_EQ(out(at), a(at) + b(at)); });
        add(out, b, a, kFloat);
        out.for_each([&](const Shape& at) { ASSERT_EQ(out(at), a(at) + b(at)); });
      }
    }
  });
}

TEST(NdIter, ConvertsOperandsToTheComputeDtype) {
  std::mt19937 rng(3);
  for (const Shape& shape : kShapes)
    for (const Layout layout : testing::kLayouts)
      testing::for_all_dtypes([&](auto zero) {
        using T = decltype(zero);
        Array<T> a(shape, layout);
        Array<Half> b(shape);
        Array<double> out(shape, layout);
        a.randomize(rng, 0, 5);
        b.randomize(rng);
        add(out, a, b, kDouble);
        out.for_each([&](const Shape& at) {
          double x;
          if constexpr (is_complex<T>::value) x = a(at).real();
          else x = static_cast<double>(a(at));
          ASSERT_EQ(out(at), x + static_cast<float>(b(at)));
        });
        // And the result to the output's dtype.
        Array<T> narrow(shape, layout);
        add(narrow, a, b, kFloat, 0);
        narrow.for_each([&](const Shape& at) {
          if constexpr (is_complex<T>::value) ASSERT_EQ(narrow(at), T(a(at).real()));
          else ASSERT_TRUE(testing::same_bits(narrow(at), a(at)));
        });
      });
}

TEST(NdIter, TheOutputMayBeAnInput) {
  std::mt19937 rng(4);
  for_each_isa([&] {
    for (const int64_t n : {1, 5, 16, 100, 5000}) {
      Array<float> a({n}), b({n});
      a.randomize(rng);
      b.randomize(rng);
      const Array<float> before = a;
      add(a, a, b, kFloat);
      a.for_each([&](const Shape& at) { ASSERT_EQ(a(at), before(at) + b(at)); });
      add(a, a, b, kDouble);  // through conversions
      a.for_each([&](const Shape& at) { ASSERT_EQ(a(at), before(at) + b(at) + b(at)); });
    }
  });
}

TEST(NdIter, BeyondTheCacheTheResultIsTheSame) {
  // 20 MiB of output take the streaming path; an odd start keeps it off cache-line boundaries.
  const int64_t n = 5 * 1024 * 1024 + 13;
  std::mt19937 rng(5);
  for_each_isa([&] {
    Array<float> out({n + 1}), a({n}), b({n});
    for (int64_t i = 0; i < n; i++) a.data()[i] = static_cast<float>(i % 1000), b.data()[i] = static_cast<float>(i % 77);
    const int64_t shape[] = {n}, stride[] = {4}, zero[] = {0};
    const ScalarType types[] = {kFloat, kFloat, kFloat};
    const Scalar alpha = 1;
    const Operand operands[] = {{reinterpret_cast<char*>(out.data() + 1), kFloat, stride},
                                {reinterpret_cast<char*>(a.data()), kFloat, stride},
                                {reinterpret_cast<char*>(b.data()), kFloat, stride}};
    run_nd(shape, operands, 1, types, add_kernel.loop(kFloat), &alpha);
    for (int64_t i = 0; i < n; i++) ASSERT_EQ(out.data()[i + 1], static_cast<float>(i % 1000 + i % 77)) << i;
    ASSERT_EQ(out.data()[0], 0);
    const Operand with_scalar[] = {operands[0], operands[1], {reinterpret_cast<char*>(b.data() + 5), kFloat, zero}};
    run_nd(shape, with_scalar, 1, types, add_kernel.loop(kFloat), &alpha);
    for (int64_t i = 0; i < n; i++) ASSERT_EQ(out.data()[i + 1], static_cast<float>(i % 1000 + 5)) << i;
  });
}

TEST(NdIter, ResultsDoNotDependOnTheThreadCount) {
  std::mt19937 rng(6);
  for (const Shape& shape : {Shape{100003}, Shape{331, 999}, Shape{7, 50001}, Shape{60000, 3}}) {
    Array<float> x(shape, Layout::gapped), y(shape, Layout::transposed);
    for (auto& v : {&x, &y}) {
      v->for_each([&](const Shape& at) { (*v)(at) = static_cast<float>(static_cast<int>(rng() % 20001) - 10000) * 1e-3f; });
    }
    std::vector<std::vector<float>> results;
    testing::with_one_and_two_threads([&](int) {
      Array<float> out(shape);
      Shape s0, s1, s2;
      const Operand unary[] = {operand(out, s0), operand(x, s1)};
      const ScalarType types[] = {kFloat, kFloat, kFloat};
      run_nd(shape, ArrayRef<Operand>(unary, 2), 1, ArrayRef<ScalarType>(types, 2), gelu_kernel.loop(kFloat), nullptr, 1024);
      results.push_back(out.values());
      const Operand binary[] = {operand(out, s0), operand(x, s1), operand(y, s2)};
      run_nd(shape, binary, 1, types, atan2_kernel.loop(kFloat), nullptr, 1024);
      results.push_back(out.values());
    });
    EXPECT_EQ(results[0], results[2]);
    EXPECT_EQ(results[1], results[3]);
  }
}

void divide_with_remainder(char** data, const int64_t* strides, int64_t n, const Scalar*) {
  for (int64_t i = 0; i < n; i++) {
    const int32_t a = *reinterpret_cast<int32_t*>(data[2] + i * strides[2]);
    *reinterpret_cast<int32_t*>(data[0] + i * strides[0]) = a / 3;
    *reinterpret_cast<int32_t*>(data[1] + i * strides[1]) = a % 3;
  }
}

TEST(NdIter, SeveralOutputs) {
  std::mt19937 rng(7);
  for (const Layout layout : testing::kLayouts) {
    Array<int32_t> quotient({13, 7}, layout);
    Array<int64_t> remainder({13, 7});
    Array<uint8_t> a({13, 7}, layout);
    a.randomize(rng, 0, 200);
    Shape s0, s1, s2;
    const Operand operands[] = {operand(quotient, s0), operand(remainder, s1), operand(a, s2)};
    const ScalarType types[] = {kInt, kInt, kInt};
    run_nd({13, 7}, operands, 2, types, divide_with_remainder, nullptr);
    a.for_each([&](const Shape& at) {
      ASSERT_EQ(quotient(at), a(at) / 3);
      ASSERT_EQ(remainder(at), a(at) % 3);
    });
  }
}

TEST(NdIter, AnErrorInTheLoopReachesTheCaller) {
  testing::with_one_and_two_threads([&](int) {
    Array<int64_t> out({200000}), a({200000}), b({200000});
    const Operand operands[] = {{reinterpret_cast<char*>(out.data()), kLong, nullptr},
                                {reinterpret_cast<char*>(a.data()), kLong, nullptr},
                                {reinterpret_cast<char*>(b.data()), kLong, nullptr}};
    const int64_t stride[] = {8}, shape[] = {200000};
    Operand with_strides[3];
    for (int i = 0; i < 3; i++) with_strides[i] = {operands[i].data, kLong, stride};
    const ScalarType types[] = {kLong, kLong, kLong};
    try {
      run_nd(shape, with_strides, 1, types, div_trunc_kernel.loop(kLong), nullptr);
      FAIL() << "division by zero went unnoticed";
    } catch (const Error& e) { EXPECT_STREQ(e.what(), "ZeroDivisionError: integer division or remainder by zero"); }
  });
}

TEST(NdIter, RejectsTooManyOperandsOrDimensions) {
  const Shape shape(65, 1), strides(65, 4);
  float x = 0;
  std::vector<Operand> operands(9, Operand{reinterpret_cast<char*>(&x), kFloat, strides.data()});
  std::vector<ScalarType> types(9, kFloat);
  EXPECT_THROW(run_nd({}, operands, 1, types, add_kernel.loop(kFloat), nullptr), Error);
  operands.resize(2);
  types.resize(2);
  EXPECT_THROW(run_nd(shape, operands, 1, types, neg_kernel.loop(kFloat), nullptr), Error);
}

}  // namespace
}  // namespace cresset::kernels
