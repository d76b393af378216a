#include "cresset/kernels/reduce/reduce.h"

#include <gtest/gtest.h>

#include "tests/kernels/array.h"
#include "tests/kernels/reduce_reference.h"

namespace cresset::kernels {
namespace {

using namespace testing;

Shape kept_shape(const Shape& shape, uint64_t mask) {
  Shape s = shape;
  for (size_t d = 0; d < s.size(); d++)
    if (mask >> d & 1) s[d] = 1;
  return s;
}

ReduceArgs arguments(const Array& in, Array& out, uint64_t mask, Scalar param = 0) {
  return {in.data(), out.data(), in.dtype, out.dtype, in.shape, in.strides, mask, out.strides, param};
}

void check(ReduceOp op, const Array& in, uint64_t mask, ScalarType out_dtype, double ulps, Scalar param = 0) {
  Array out(out_dtype, kept_shape(in.shape, mask)), expected = out;
  reduce(op, arguments(in, out, mask, param));
  reference::reduce(op, arguments(in, expected, mask, param));
  expect_close(out, expected, ulps, "op " + std::to_string(static_cast<int>(op)) + " mask " + std::to_string(mask));
}

ScalarType sum_dtype(ScalarType t) { return is_integral_type(t, true) ? kLong : t; }

// Layouts that reach every path: long rows, columns, narrow columns, permuted, gaps, expanded.
std::vector<Array> layouts(ScalarType t, bool small) {
  std::vector<Array> all;
  for (const Shape& s : {Shape{300}, Shape{5, 67}, Shape{67, 5}, Shape{3, 40, 33}, Shape{40, 3, 2}, Shape{2, 3, 4, 5}, Shape{1, 9, 1}, Shape{}}) {
    Array a(t, s, s.size() > 1 ? 1 : 0);
    fill(a, 7 + static_cast<unsigned>(all.size()), small);
    all.push_back(a);
    if (s.size() == 3) {
      all.push_back(a.permuted({2, 0, 1}));
      all.push_back(a.permuted({1, 2, 0}).halved(1));
      all.push_back(a.expanded(1, 6));
    }
    if (s.size() == 1) all.push_back(a.halved(0));
  }
  return all;
}

template <class F> void for_masks(const Array& a, F body) {
  for (uint64_t mask = 0; mask < uint64_t{1} << a.shape.size(); mask++) body(mask);
}

TEST(Reduce, SumAndProductOfEveryDtypeLayoutAndMask) {
  for_each_isa([] {
    for (ScalarType t : kAllDTypes) {
      for (const Array& a : layouts(t, false)) for_masks(a, [&](uint64_t mask) { check(ReduceOp::sum, a, mask, sum_dtype(t), 20); });
      Array b(t, {4, 6, 3}, 1);
      fill(b, 3);
      for_masks(b, [&](uint64_t mask) { check(ReduceOp::prod, b, mask, sum_dtype(t), 300); });
    }
  });
}

TEST(Reduce, MeanAndSumWithAnotherOutputDtype) {
  for_each_isa([] {
    for (ScalarType from : kAllDTypes)
      for (ScalarType to : {kHalf, kBFloat16, kFloat, kDouble, kComplexFloat, kComplexDouble, kInt}) {
        if (is_complex_type(from) && !is_complex_type(to)) continue;
        if (to == kInt && !is_integral_type(from, true)) continue;
        Array a(from, {6, 35}, 1);
        fill(a, 11);
        for_masks(a, [&](uint64_t mask) {
          check(ReduceOp::sum, a, mask, to, 40);
          if (to != kInt) check(ReduceOp::mean, a, mask, to, 8);
        });
      }
  });
}

TEST(Reduce, NansumAndNanmeanSkipNan) {
  for_each_isa([] {
    for (ScalarType t : {kHalf, kBFloat16, kFloat, kDouble, kComplexFloat, kComplexDouble}) {
      Array a(t, {7, 150}, 1);
      fill(a, 5);
      for (int64_t i = 0; i < a.numel(); i += 7) a.set<C>(i, i % 2 ? C(NAN, 0) : C(is_complex_type(t) ? 1 : NAN, is_complex_type(t) ? NAN : 0));
      for_masks(a, [&](uint64_t mask) {
        check(ReduceOp::nansum, a, mask, t, 20);
        check(ReduceOp::nanmean, a, mask, t, 8);
      });
    }
  });
}

TEST(Reduce, MaxAndMinOfEveryRealDtype) {
  for_each_isa([] {
    for (ScalarType t : kAllDTypes) {
      if (is_complex_type(t)) continue;
      for (const Array& a : layouts(t, true))
        for_masks(a, [&](uint64_t mask) {
          check(ReduceOp::max, a, mask, t, 0);
          check(ReduceOp::min, a, mask, t, 0);
        });
    }
  });
}

TEST(Reduce, NanWinsInMaxAndMinWhereverItStands) {
  for_each_isa([] {
    for (ScalarType t : kFloatDTypes)
      for (int64_t n : {1, 3, 40, 2500})
        for (int64_t where : {int64_t{0}, n / 2, n - 1})
          for (int dim : {0, 1}) {
            Array a(t, dim ? Shape{n, 3} : Shape{3, n});
            fill(a, 1);
            a.set<double>(dim ? where * 3 + 1 : n + where, NAN);
            check(ReduceOp::max, a, dim ? 1 : 2, t, 0);
            check(ReduceOp::min, a, dim ? 1 : 2, t, 0);
          }
  });
}

TEST(Reduce, InfinitiesAndExtremeIntegers) {
  for_each_isa([] {
    Array a(kFloat, {50});
    for (int64_t i = 0; i < 50; i++) a.set<double>(i, -INFINITY);
    check(ReduceOp::max, a, 1, kFloat, 0);
    Array b(kLong, {50}), c(kUInt64, {50});
    for (int64_t i = 0; i < 50; i++) b.as<int64_t>()[i] = INT64_MIN + i, c.as<uint64_t>()[i] = UINT64_MAX - static_cast<uint64_t>(i);
    for (ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::sum}) {
      Array out(kLong, {1}), expected = out, out2(kUInt64, {1}), expected2 = out2;
      reduce(op, arguments(b, out, 1));
      reduce(op, arguments(c, out2, 1));
      uint64_t sum = 0, sum2 = 0;
      for (int64_t i = 0; i < 50; i++) sum += static_cast<uint64_t>(b.as<int64_t>()[i]), sum2 += c.as<uint64_t>()[i];
      EXPECT_EQ(out.as<int64_t>()[0], op == ReduceOp::max ? INT64_MIN + 49 : op == ReduceOp::min ? INT64_MIN : static_cast<int64_t>(sum));
      EXPECT_EQ(out2.as<uint64_t>()[0], op == ReduceOp::max ? UINT64_MAX : op == ReduceOp::min ? UINT64_MAX - 49 : sum2);
    }
  });
}

TEST(Reduce, AllAnyAndCountOfEveryDtype) {
  for_each_isa([] {
    for (ScalarType t : kAllDTypes)
      for (int rare = 0; rare < 3; rare++)
        for (Array a : layouts(t, true)) {
          // All but one zero, all but one nonzero, mixed; NaN counts as true and -0 as false.
          for (int64_t i = 0; i < a.numel() && rare; i++) a.set<double>(i, rare == 1 ? (i == a.numel() / 2) : (i != a.numel() / 2));
          if (is_floating_type(t) && a.numel() > 2) a.set<double>(0, rare == 2 ? NAN : -0.0);
          for_masks(a, [&](uint64_t mask) {
            check(ReduceOp::all, a, mask, t == kByte ? kByte : kBool, 0);
            check(ReduceOp::any, a, mask, t == kByte ? kByte : kBool, 0);
            check(ReduceOp::count_nonzero, a, mask, kLong, 0);
          });
        }
  });
}

TEST(Reduce, NormsOfEveryOrder) {
  for_each_isa([] {
    for (ScalarType t : {kHalf, kBFloat16, kFloat, kDouble, kComplexFloat, kComplexDouble})
      for (double p : {0.0, 1.0, 2.0, 3.0, 0.5, -1.0, double(INFINITY), double(-INFINITY)}) {
        Array a(t, {5, 70}, 1);
        fill(a, 9);
        for_masks(a, [&](uint64_t mask) { check(ReduceOp::norm, a, mask, to_real_type(t), 60, p); });
      }
    Array a(kFloat, {100});
    fill(a, 2);
    check(ReduceOp::norm, a, 1, kDouble, 8, 2);
    a.set<double>(50, NAN);
    for (double p : {1.0, 2.0, double(INFINITY), double(-INFINITY)}) check(ReduceOp::norm, a, 1, kFloat, 8, p);
  });
}

TEST(Reduce, EmptyInputsYieldIdentities) {
  for_each_isa([] {
    for (const Shape& s : {Shape{0}, Shape{3, 0}, Shape{0, 3}, Shape{2, 0, 4}})
      for (ScalarType t : {kFloat, kLong, kBool, kComplexFloat}) {
        Array a(t, s);
        for_masks(a, [&](uint64_t mask) {
          for (ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::count_nonzero}) check(op, a, mask, sum_dtype(t), 0);
          for (ReduceOp op : {ReduceOp::all, ReduceOp::any}) check(op, a, mask, kBool, 0);
          if (t == kFloat) check(ReduceOp::mean, a, mask, t, 0);
          if (t == kFloat) check(ReduceOp::norm, a, mask, t, 0, 2);
        });
      }
    Array a(kFloat, {3, 0}), out(kFloat, {3, 1});
    EXPECT_THROW(reduce(ReduceOp::max, arguments(a, out, 2)), IndexError);
    Array b(kFloat, {0, 3});
    EXPECT_NO_THROW(reduce(ReduceOp::max, arguments(b, out, 2)));
  });
}

// The bits of PyTorch 2.13's sums, folded into one number: sum j counts 2 * j + 1 times, modulo 2^64, joined by exclusive or.
TEST(Reduce, SumsHaveTheBitsOfPyTorch) {
  struct Case {
    ScalarType dtype;
    Shape shape;
    uint64_t mask, bits;
  };
  const Case cases[] = {
      {kFloat, {8}, 1, 0x4327453f},
      {kFloat, {13}, 1, 0x43219606},
      {kFloat, {300}, 1, 0x441f06a7},
      {kFloat, {1000}, 1, 0x43fc3350},
      {kFloat, {30000}, 1, 0xc369ec60},
      {kFloat, {9, 6}, 2, 0xa4f04aa6b},
      {kFloat, {11, 31}, 2, 0x1bc318716a},
      {kFloat, {5, 700}, 2, 0x2dc225104},
      {kFloat, {20, 7}, 1, 0xbd557860e},
      {kFloat, {100, 45}, 1, 0x521b10e398},
      {kDouble, {8}, 1, 0x4064e8a7d82bf8dd},
      {kDouble, {13}, 1, 0x406432c0b6cd0dfd},
      {kDouble, {300}, 1, 0x4083e0d49ef089e4},
      {kDouble, {1000}, 1, 0x407f866a6f502b82},
      {kDouble, {30000}, 1, 0xc06d3d83a15e1f30},
      {kDouble, {9, 6}, 2, 0x41e0954052e37150},
      {kDouble, {11, 31}, 2, 0xc0630e27414bccc0},
      {kDouble, {5, 700}, 2, 0xc3844d27168f3e1a},
      {kDouble, {20, 7}, 1, 0xc2aaf0c6e5bc92db},
      {kDouble, {100, 45}, 1, 0xeb6223e7e7a67668},
  };
  for_each_isa([&] {
    for (const Case& c : cases) {
      Array a(c.dtype, c.shape), out(c.dtype, kept_shape(c.shape, c.mask));
      for (int64_t i = 0; i < a.numel(); i++)
        a.set<double>(i, (static_cast<uint32_t>(static_cast<uint64_t>(i) * 2654435761) / 4294967296.0 - 0.5) * std::pow(10.0, static_cast<double>(i % 7 - 3)));
      reduce(ReduceOp::sum, arguments(a, out, c.mask));
      uint64_t bits = 0;
      for (int64_t j = 0; j < out.numel(); j++) {
        uint64_t sum = 0;
        std::memcpy(&sum, out.data() + out.at(j), element_size(c.dtype));
        bits ^= sum * static_cast<uint64_t>(2 * j + 1);
      }
      EXPECT_EQ(bits, c.bits) << dtype_name(c.dtype) << " of " << c.shape[0] << " by " << c.shape.back() << ", mask " << c.mask;
    }
  });
}

TEST(Reduce, LargeSumsAreAccurateAndIndependentOfThreads) {
  for_each_isa([] {
    for (const auto& [shape, mask] : {std::pair{Shape{300000}, 1},
                                      {Shape{3000, 100}, 1},
                                      {Shape{3000, 100}, 2},
                                      {Shape{3000, 100}, 3},
                                      {Shape{200000, 3}, 1},
                                      {Shape{200000, 3}, 2},
                                      {Shape{40, 50, 90}, 5},
                                      {Shape{40, 50, 90}, 2},
                                      {Shape{100, 3000}, 1}})
      for (ScalarType t : {kFloat, kHalf, kBFloat16, kComplexFloat}) {
        Array a(t, shape);
        std::mt19937 random(3);
        for (int64_t i = 0; i < a.numel(); i++) a.set<double>(i, static_cast<double>(random() >> 8) / (1 << 24));
        Array out(is_complex_type(t) ? kComplexFloat : kFloat, kept_shape(a.shape, mask)), expected = out;
        reference::reduce(ReduceOp::sum, arguments(a, expected, mask));
        expect_same_on_threads(out, [&] { reduce(ReduceOp::sum, arguments(a, out, mask)); });
        expect_close(out, expected, 4);
      }
  });
}

// var_mean -------------------------------------------------------------------------------------------------------------------------

void check_var(const Array& in, uint64_t mask, double correction, bool sqrt, double ulps) {
  Array var(to_real_type(in.dtype), kept_shape(in.shape, mask)), mean(in.dtype, kept_shape(in.shape, mask)), var2 = var, mean2 = mean;
  VarMeanArgs args{in.data(), var.data(), mean.data(), in.dtype, in.shape, in.strides, mask, var.strides, mean.strides, correction, sqrt};
  var_mean(args);
  args.var_out = var2.data();
  args.mean_out = mean2.data();
  reference::var_mean(args);
  expect_close(var, var2, ulps, "var");
  expect_close(mean, mean2, ulps, "mean");
}

TEST(VarMean, EveryDtypeLayoutMaskAndCorrection) {
  for_each_isa([] {
    for (ScalarType t : {kHalf, kBFloat16, kFloat, kDouble, kComplexFloat, kComplexDouble})
      for (const Array& a : layouts(t, false))
        for_masks(a, [&](uint64_t mask) {
          for (double correction : {0.0, 1.0, 1.5}) check_var(a, mask, correction, false, 8);
          check_var(a, mask, 1, true, 8);
        });
  });
}

TEST(VarMean, SmallSpreadAroundALargeMeanSurvives) {
  for_each_isa([] {
    for (const auto& [shape, mask] : {std::pair{Shape{200000}, 1}, {Shape{2000, 40}, 1}, {Shape{40, 2000}, 2}}) {
      Array a(kFloat, shape);
      fill(a, 4);
      for (int64_t i = 0; i < a.numel(); i++) a.set<double>(i, 1000 + a.get<double>(i));
      check_var(a, mask, 1, false, 4);
    }
  });
}

TEST(VarMean, EmptyAndTooFewElementsGiveNan) {
  for_each_isa([] {
    check_var(Array(kFloat, {0}), 1, 1, false, 0);
    check_var(Array(kFloat, {3, 0}), 2, 0, false, 0);
    Array one(kFloat, {1});
    one.set<double>(0, 2.5);
    check_var(one, 1, 1, false, 0);
  });
}

TEST(VarMean, IndependentOfThreads) {
  Array a(kFloat, {400, 700});
  fill(a, 8);
  for (uint64_t mask : {1, 2, 3}) {
    Array var(kFloat, kept_shape(a.shape, mask));
    expect_same_on_threads(var, [&] { var_mean({a.data(), var.data(), nullptr, kFloat, a.shape, a.strides, mask, var.strides, {}, 1, false}); });
  }
}

// arg_reduce -----------------------------------------------------------------------------------------------------------------------

void check_arg(bool is_max, const Array& in, int dim) {
  const uint64_t mask = dim < 0 ? ~uint64_t{0} : uint64_t{1} << dim;
  Array values(in.dtype, kept_shape(in.shape, mask)), indices(kLong, kept_shape(in.shape, mask)), values2 = values, indices2 = indices;
  ArgReduceArgs args{in.data(), values.data(), indices.data(), in.dtype, in.shape, in.strides, dim, values.strides, indices.strides};
  arg_reduce(is_max, args);
  args.values = values2.data();
  args.indices = indices2.data();
  reference::arg_reduce(is_max, args);
  expect_close(values, values2, 0, "values");
  expect_close(indices, indices2, 0, "indices");
}

TEST(ArgReduce, FirstOfEqualElementsInEveryDtypeAndLayout) {
  for_each_isa([] {
    for (ScalarType t : kAllDTypes) {
      if (is_complex_type(t)) continue;
      for (const Array& a : layouts(t, true))
        for (int dim = -1; dim < static_cast<int>(a.shape.size()); dim++) {
          check_arg(true, a, dim);
          check_arg(false, a, dim);
        }
    }
  });
}

TEST(ArgReduce, FirstNanWins) {
  for_each_isa([] {
    for (ScalarType t : kFloatDTypes)
      for (int64_t n : {2, 40, 10000})
        for (int dim : {0, 1}) {
          Array a(t, dim ? Shape{3, n} : Shape{n, 3});
          fill(a, 6);
          a.set<double>(dim ? n + n - 1 : (n - 1) * 3 + 1, NAN);
          a.set<double>(dim ? n + n / 2 : n / 2 * 3 + 1, NAN);
          for (int d : {-1, dim}) {
            check_arg(true, a, d);
            check_arg(false, a, d);
          }
        }
  });
}

TEST(Reduce, RowsOneByOneHaveTheSameBits) {
  for_each_isa([] {
    for (const ScalarType t : {kFloat, kDouble, kHalf, kBFloat16})
      for (const int64_t columns : {16, 33, 64, 129, 768, 5000})
        for (const int64_t rows : {1, 3, 16, 300}) {
          Array in(t, {rows, columns}), whole(t, {rows, 1}), one(t, {rows, 1});
          fill(in, static_cast<unsigned>(columns));
          for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min}) {
            reduce(op, arguments(in, whole, 2));
            for (int64_t r = 0; r < rows; r += 2) {  // blocks of another height than the whole
              const int64_t size = static_cast<int64_t>(element_size(t));
              ASSERT_TRUE(reduce_rows(op, t, in.data() + r * columns * size, std::min<int64_t>(2, rows - r), columns, one.data() + r * size));
            }
            EXPECT_EQ(std::memcmp(whole.data(), one.data(), static_cast<size_t>(rows) * element_size(t)), 0) << static_cast<int>(op) << " of " << columns;
          }
        }
    char memory[64] = {};
    EXPECT_FALSE(reduce_rows(ReduceOp::sum, kLong, memory, 1, 16, memory)) << "integers have another result";
    EXPECT_FALSE(reduce_rows(ReduceOp::any, kFloat, memory, 1, 16, memory));
    EXPECT_FALSE(reduce_rows(ReduceOp::sum, kFloat, memory, 1, 2, memory)) << "a row of few elements";
  });
}

TEST(ArgReduce, LongInputsIndependentOfThreads) {
  for_each_isa([] {
    for (const Shape& s : {Shape{300000}, Shape{5, 70000}, Shape{2000, 90}})
      for (ScalarType t : {kFloat, kByte, kLong}) {
        Array a(t, s);
        fill(a, 12, t == kLong);
        for (int dim = -1; dim < static_cast<int>(s.size()); dim++) {
          check_arg(true, a, dim);
          Array indices(kLong, kept_shape(s, dim < 0 ? 3 : uint64_t{1} << dim));
          expect_same_on_threads(indices, [&] {
            arg_reduce(false, {a.data(), nullptr, indices.data(), t, a.shape, a.strides, dim, {}, dim < 0 ? IntArrayRef() : IntArrayRef(indices.strides)});
          });
        }
      }
  });
}

TEST(ArgReduce, NothingToChooseFromIsAnError) {
  Array a(kFloat, {3, 0}), indices(kLong, {3, 1});
  EXPECT_THROW(arg_reduce(true, {a.data(), nullptr, indices.data(), kFloat, a.shape, a.strides, 1, {}, indices.strides}), IndexError);
}

}  // namespace
}  // namespace cresset::kernels
