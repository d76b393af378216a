#include "cresset/kernels/layout/copy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cresset/kernels/isa.h"
#include "tests/kernels/strided_array.h"

namespace cresset::kernels {
namespace {

using testing::Array;
using testing::Layout;
using testing::Shape;

template <class To, class From> void copy(Array<To>& dst, Array<From>& src) {
  Shape d, s;
  for (const int64_t x : dst.strides) d.push_back(x * static_cast<int64_t>(sizeof(To)));
  for (const int64_t x : src.strides) s.push_back(x * static_cast<int64_t>(sizeof(From)));
  copy_strided(dst.sizes, {reinterpret_cast<char*>(dst.data()), dtype_of<To>, d.data()}, {reinterpret_cast<char*>(src.data()), dtype_of<From>, s.data()});
}

template <class F> void for_each_isa(F f) {
  const int best = active_isa();
  for (int isa = best; isa >= 0; isa--) {
    detail::g_isa = isa;
    f();
  }
  detail::g_isa = best;
}

// A value that every dtype but bool holds exactly.
template <class To, class From> To expected(From v) {
  if constexpr (is_complex<From>::value) {
    if constexpr (is_complex<To>::value) return To(static_cast<typename To::value_type>(v.real()), static_cast<typename To::value_type>(v.imag()));
    else if constexpr (std::is_same_v<To, bool>) return v.real() != 0 || v.imag() != 0;
    else return expected<To>(v.real());
  } else if constexpr (is_complex<To>::value) {
    return To(static_cast<typename To::value_type>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return static_cast<double>(v) != 0;
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(v));
  } else {
    return static_cast<To>(v);
  }
}

TEST(Copy, EveryDtypeToEveryOther) {
  std::mt19937 rng(1);
  for_each_isa([&] {
    testing::for_all_dtypes([&](auto from) {
      testing::for_all_dtypes([&](auto to) {
        using From = decltype(from);
        using To = decltype(to);
        for (const Layout layout : testing::kLayouts) {
          Array<From> src({37, 19}, layout);
          src.randomize(rng, 0, 100);
          Array<To> dst({37, 19});
          copy(dst, src);
          dst.for_each([&](const Shape& at) { ASSERT_TRUE(testing::same_bits(dst(at), expected<To>(src(at)))) << dtype_name(dtype_of<From>); });
        }
      });
    });
  });
}

const Shape kShapes[] = {{}, {0}, {1}, {4, 0}, {5}, {16, 16}, {17, 33}, {64, 64}, {100, 67}, {2, 130, 70}, {3, 5, 7, 2}, {1000, 3}, {3, 1000}};

template <class T> void check_layouts(std::mt19937& rng) {
  for (const Shape& shape : kShapes)
    for (const Layout from : testing::kLayouts)
      for (const Layout to : testing::kLayouts) {
        Array<T> src(shape, from), dst(shape, to);
        src.randomize(rng);
        const std::vector<unsigned char> before = dst.bytes;
        copy(dst, src);
        ASSERT_TRUE(testing::same_values(dst, src));
        dst.for_each([&](const Shape& at) { dst(at) = T{}; });
        ASSERT_EQ(dst.bytes, before);  // nothing between the elements was touched
        Array<T> back(shape, from);
        Array<double> wide(shape, to);
        if constexpr (!is_complex<T>::value) {
          copy(wide, src);  // transposes and casts at once
          copy(back, wide);
          ASSERT_TRUE(testing::same_values(back, src));
        }
      }
}

TEST(Copy, EveryLayoutToEveryOther) {
  std::mt19937 rng(2);
  for_each_isa([&] {
    check_layouts<uint8_t>(rng);
    check_layouts<Half>(rng);
    check_layouts<float>(rng);
    check_layouts<double>(rng);
    check_layouts<complex<double>>(rng);
  });
}

TEST(Copy, BroadcastsTheSource) {
  for_each_isa([&] {
    Array<float> src({40, 30, 20}), dst({40, 30, 20});
    Array<int16_t> narrow({40, 30, 20});
    std::mt19937 rng(3);
    src.randomize(rng);
    for (unsigned dims = 1; dims < 8; dims++) {
      Array<float> view = src;
      for (size_t d = 0; d < 3; d++)
        if (dims >> d & 1) view.strides[d] = 0;
      copy(dst, view);
      dst.for_each([&](const Shape& at) { ASSERT_EQ(dst(at), view(at)); });
      copy(narrow, view);
      narrow.for_each([&](const Shape& at) { ASSERT_EQ(narrow(at), view(at)); });
    }
  });
}

TEST(Copy, BeyondTheCache) {
  std::mt19937 rng(4);
  for_each_isa([&] {
    testing::with_one_and_two_threads([&](int) {
      const int64_t rows = 2100, columns = 2500;
      Array<float> src({rows, columns}), dst({rows, columns}), turned({rows, columns}, Layout::transposed);
      Array<double> wide({rows, columns});
      for (int64_t i = 0; i < rows * columns; i++) src.data()[i] = static_cast<float>(i % 65521);
      copy(dst, src);
      ASSERT_EQ(dst.bytes, src.bytes);
      copy(turned, src);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) ASSERT_EQ(turned.data()[c * rows + r], src.data()[r * columns + c]);
      copy(wide, src);
      for (int64_t i = 0; i < rows * columns; i++) ASSERT_EQ(wide.data()[i], src.data()[i]);
    });
  });
}

// Rows with a gap behind each, on both sides; what lies in the gaps stays.
template <class T> void check_rows(std::mt19937& rng, int64_t planes, int64_t rows, int64_t columns) {
  SCOPED_TRACE(::testing::Message() << planes << " x " << rows << " x " << columns);
  Array<T> src({planes, rows, columns + 3}), dst({rows, planes, columns + 1});
  src.randomize(rng);
  src.sizes = dst.sizes = {planes, rows, columns};
  std::swap(dst.strides[0], dst.strides[1]);
  std::fill(dst.bytes.begin(), dst.bytes.end(), 0x5a);
  const std::vector<unsigned char> before = dst.bytes;
  copy(dst, src);
  ASSERT_TRUE(testing::same_values(dst, src));
  dst.for_each([&](const Shape& at) { std::memset(static_cast<void*>(&dst(at)), 0x5a, sizeof(T)); });
  ASSERT_EQ(dst.bytes, before);
}

TEST(Copy, DenseRowsAtADistance) {
  std::mt19937 rng(5);
  for_each_isa([&] {
    for (int64_t columns : {1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 32, 33, 60, 63, 64, 65, 127, 128, 129, 500, 512, 1100}) {
      check_rows<uint8_t>(rng, 3, 5, columns);
      check_rows<Half>(rng, 3, 5, columns);
      check_rows<float>(rng, 4, 9, columns);
      check_rows<complex<double>>(rng, 2, 3, columns);
    }
    // Beyond the caches, where long rows are streamed; and enough for two threads.
    testing::with_one_and_two_threads([&](int) {
      check_rows<float>(rng, 130, 61, 700);
      check_rows<float>(rng, 400, 151, 77);
    });
  });
}

// Values from PyTorch 2.13 on x86-64.
TEST(Copy, FloatsOutOfAnIntegersRange) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {-1.5f, 255, 256, -129, 300.7f, 1e5f, -1e5f, 2147483648.0f, 3e9f, 1e10f, -1e10f, 1.9e19f, inf, -inf, nan};
  const std::vector<uint8_t> u8 = {255, 255, 0, 127, 44, 160, 96, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<int16_t> i16 = {-1, 255, 256, -129, 300, -31072, 31072, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<int32_t> i32 = {-1,        255,       256,       -129,      300,       100000,    -100000,  INT32_MIN,
                                    INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN};
  const std::vector<int64_t> i64 = {-1,         255,         256,          -129,      300,       100000,    -100000,  2147483648,
                                    3000000000, 10000000000, -10000000000, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
  const std::vector<uint32_t> u32 = {4294967295u, 255,         256, 4294967167u, 300, 100000, 4294867296u, 2147483648u, 3000000000u,
                                     1410065408,  2884901888u, 0,   0,           0,   0};
  const uint64_t top = uint64_t{1} << 63;
  const std::vector<uint64_t> u64 = {
      ~uint64_t{0}, 255, 256, uint64_t(-129), 300, 100000, uint64_t(-100000), 2147483648u, 3000000000u, 10000000000u, uint64_t(-10000000000), 0, 0, top, top};
  for_each_isa([&] {
    for (const int64_t repeat : {1, 9}) {  // short runs and vector loops
      const auto n = static_cast<int64_t>(values.size()) * repeat;
      Array<float> src({n});
      for (int64_t i = 0; i < n; i++) src.data()[i] = values[static_cast<size_t>(i) % values.size()];
      const auto check = [&](const auto& want) {
        using To = typename std::decay_t<decltype(want)>::value_type;
        Array<To> dst({n});
        copy(dst, src);
        for (int64_t i = 0; i < n; i++)
          ASSERT_EQ(dst.data()[i], want[static_cast<size_t>(i) % want.size()]) << dtype_name(dtype_of<To>) << " " << src.data()[i];
      };
      check(u8);
      check(i16);
      check(i32);
      check(i64);
      check(u32);
      check(u64);
    }
  });
}

TEST(Copy, RoundsToTheNearestHalfAndKeepsSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // 1 + 2^-11 is halfway: to even. 65520 is the first that overflows; 2^-25 is halfway to the smallest subnormal.
  const std::vector<float> values = {1.00048828125f, 1.00146484375f, 65519.996f, 65520.0f, -65520.0f, 2.98023224e-8f, 2.9802326e-8f, 6.1e-5f,
                                     1e-7f,          -0.0f,          inf,        -inf,     nan,       3.1415927f,     1.00390625f,   1.01171875f,
                                     3.4e38f,        1e-40f};
  const std::vector<uint16_t> half = {0x3c00, 0x3c02, 0x7bff, 0x7c00, 0xfc00, 0x0000, 0x0001, 0x03ff, 0x0002,
                                      0x8000, 0x7c00, 0xfc00, 0x7e00, 0x4248, 0x3c04, 0x3c0c, 0x7c00, 0x0000};
  const std::vector<uint16_t> brain = {0x3f80, 0x3f80, 0x4780, 0x4780, 0xc780, 0x3300, 0x3300, 0x3880, 0x33d7,
                                       0x8000, 0x7f80, 0xff80, 0x7fc0, 0x4049, 0x3f80, 0x3f82, 0x7f80, 0x0001};
  for_each_isa([&] {
    for (const int64_t repeat : {1, 9}) {
      const auto n = static_cast<int64_t>(values.size()) * repeat;
      Array<float> src({n});
      for (int64_t i = 0; i < n; i++) src.data()[i] = values[static_cast<size_t>(i) % values.size()];
      Array<Half> h({n});
      Array<BFloat16> b({n});
      copy(h, src);
      copy(b, src);
      for (int64_t i = 0; i < n; i++) {
        const size_t k = static_cast<size_t>(i) % values.size();
        ASSERT_EQ(h.data()[i].x, half[k]) << values[k];
        ASSERT_EQ(b.data()[i].x, brain[k]) << values[k];
      }
      // Back again is exact.
      Array<float> back({n});
      copy(back, h);
      for (int64_t i = 0; i < n; i++) ASSERT_TRUE(std::isnan(back.data()[i]) || back.data()[i] == static_cast<float>(h.data()[i]));
    }
  });
}

}  // namespace
}  // namespace cresset::kernels
