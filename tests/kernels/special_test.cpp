// Special functions of floats against mpmath 1.3 at 40 digits, for every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cresset/kernels/pointwise/pointwise_kernels.h"

namespace cresset::kernels {
namespace {

struct Value {
  float x;
  double y;
};
struct Row {
  const PointwiseKernel* kernel;
  std::vector<Value> values;
};

const Row kRows[] = {
    {&lgamma_kernel,
     {{0.25f, 1.2880225246980775},
      {1.0001f, -5.7722917768988851e-5},
      {1.9999f, -4.2282223356811171e-5},
      {2.3f, 0.15418942634750006},
      {5.5f, 3.9578139676187163},
      {30.7f, 73.634387646781567},
      {-0.5f, 1.2655121234846454},
      {-2.4570248f, -1.1287842529645816e-7},
      {-3.7f, -1.379739864669403},
      {-1000.5f, -5914.4377011168519},
      {1e-20f, 46.051701891615392},
      {3e30f, 2.0752848779866663e+32}}},
    {&i0_kernel,
     {{0.0f, 1.0},
      {0.5f, 1.0634833707413235},
      {-3.0f, 4.8807925858650241},
      {7.9f, 389.40631798197557},
      {8.1f, 469.50077436011099},
      {60.0f, 5.8940770556098012e+24}}},
    {&i1_kernel,
     {{0.0f, 0.0},
      {0.5f, 0.25789430539089632},
      {-3.0f, -3.9533702174026094},
      {7.9f, 363.85397682880506},
      {8.1f, 439.48446731312958},
      {-60.0f, -5.8447515883904683e+24}}},
    {&i0e_kernel,
     {{0.0f, 1.0},
      {0.5f, 0.64503527044915007},
      {-3.0f, 0.2430003541618254},
      {7.9f, 0.14436986323759147},
      {8.1f, 0.14251180601267851},
      {1000000.0f, 0.00039894233026924578}}},
    {&i1e_kernel,
     {{0.0f, 0.0},
      {0.5f, 0.1564208031848717},
      {-3.0f, -0.19682671329730085},
      {7.9f, 0.13489649871489706},
      {8.1f, 0.13340068551894447},
      {1000000.0f, 0.00039894213079803078}}},
    {&k0_kernel,
     {{1e-20f, 46.167633407273804},
      {0.3f, 1.3724600241140343},
      {1.99f, 0.11530176620025282},
      {2.01f, 0.11250436231518842},
      {9.0f, 5.0881312956459248e-5},
      {80.0f, 2.5251198425054718e-36}}},
    {&k1_kernel,
     {{1e-20f, 1.0000000317344785e+20},
      {0.3f, 3.0559918956621184},
      {1.99f, 0.14171755984364019},
      {2.01f, 0.13804087904708829},
      {9.0f, 5.3637016379451945e-5},
      {80.0f, 2.54085312752117e-36}}},
    {&k0e_kernel,
     {{1e-20f, 46.167633407273804},
      {0.3f, 1.8526272736813408},
      {1.99f, 0.84349397153605885},
      {2.01f, 0.83965575090844828},
      {9.0f, 0.41229554923141807},
      {1000.0f, 0.039628321600754217}}},
    {&k1e_kernel,
     {{1e-20f, 1.0000000317344785e+20},
      {0.3f, 4.1251576254161071},
      {1.99f, 1.0367396036353956},
      {2.01f, 1.030242877406163},
      {9.0f, 0.43462524534743467},
      {1000.0f, 0.03964813081296021}}},
    {&bessel_j0_kernel,
     {{0.0f, 1.0},
      {1e-10f, 1.0},
      {-2.4f, 0.0025076336885117834},
      {4.99f, -0.18086697722822021},
      {5.01f, -0.17431535682715593},
      {17.3f, -0.13370075497317},
      {-900.5f, 0.0091629771064885784},
      {123456.0f, -0.0022682009357373984}}},
    {&bessel_j1_kernel,
     {{0.0f, 0.0},
      {1e-10f, 5.0000000667571598e-11},
      {-3.8f, -0.012821022282999584},
      {4.99f, -0.32644146407711082},
      {5.01f, -0.32868312059959086},
      {17.3f, -0.14142323972331857},
      {-900.5f, -0.024965105328932184},
      {123456.0f, -0.00010917728525538574}}},
    {&bessel_y0_kernel,
     {{1e-10f, -14.732516264197457},
      {0.8f, -0.086802267996219604},
      {4.99f, -0.30702206720948624},
      {5.01f, -0.30997937298515987},
      {17.3f, -0.1375051144251212},
      {900.5f, 0.024960013766602562},
      {123456.0f, -0.00010916809898190868}}},
    {&bessel_y1_kernel,
     {{1e-10f, -6366197638.6779588},
      {2.1f, -0.05167866390565121},
      {4.99f, 0.15124035269503279},
      {5.01f, 0.14447850070576476},
      {17.3f, 0.12978545737080584},
      {900.5f, -0.0091491195483440943},
      {123456.0f, 0.0022682004936223702}}},
    {&spherical_j0_kernel,
     {{0.0f, 1.0}, {0.3f, 0.98506735435640007}, {-0.6f, 0.94107078439282288}, {3.0f, 0.047040002686622407}, {1000.0f, 0.00082687954053200256}}},
    {&airy_ai_kernel,
     {{0.0f, 0.35502805388781724},
      {1.2f, 0.10612575593161243},
      {-2.4f, -0.043334207008454941},
      {-2.6f, -0.17850236774503436},
      {2.4f, 0.018556090720036815},
      {2.6f, 0.013289284681285915},
      {10.0f, 1.1047532552898686e-10},
      {-50.0f, -0.16188142361232092},
      {-9000.0f, -0.055802850093725843}}},
    {&ndtr_kernel,
     {{-11.0f, 1.9106595744986757e-28},
      {-3.0f, 0.0013498980316300945},
      {-0.5f, 0.3085375387259869},
      {0.0f, 0.5},
      {1.0f, 0.84134474606854295},
      {6.0f, 0.99999999901341235}}},
    {&log_ndtr_kernel,
     {{-1000.0f, -500007.82669481218},
      {-30.0f, -454.3212439563432},
      {-1.1f, -1.9975588852714852},
      {-0.9f, -1.6924927720945211},
      {0.0f, -0.69314718055994531},
      {1.0f, -0.17275377902344989},
      {4.0f, -3.1671743377489264e-5}}},
    {&ndtri_kernel,
     {{1e-30f, -11.464024688169063},
      {1e-09f, -5.9978070196016374},
      {0.01f, -2.3263478824273122},
      {0.3f, -0.5244004784222137},
      {0.5f, 0.0},
      {0.9f, 1.2815514296922788},
      {0.999f, 3.0902361298491053}}},
    {&entr_kernel, {{0.0f, 0.0}, {0.3f, 0.36119184372932587}, {1.0f, 0.0}, {5.0f, -8.0471895621705019}, {-1.0f, -INFINITY}}},
};

template <class F> void for_each_isa(F f) {
  const int best = active_isa();
  for (detail::g_isa = best; detail::g_isa >= 0; detail::g_isa--) f();
  detail::g_isa = best;
}

void run(const PointwiseKernel& k, ScalarType t, std::vector<const void*> in, void* out, int64_t n, const Scalar* params = nullptr) {
  const int64_t stride[] = {static_cast<int64_t>(element_size(t))};
  std::vector<Operand> operands = {{static_cast<char*>(out), t, stride}};
  for (const void* p : in) operands.push_back({static_cast<char*>(const_cast<void*>(p)), t, stride});
  const std::vector<ScalarType> types(operands.size(), t);
  run_nd(n, operands, 1, types, k.loop(t), params);
}

double ulp(double y) { return std::ldexp(1.0, std::max(std::ilogb(y), -126) - 23); }

TEST(SpecialFunctions, AreWithinTwoAndAHalfUnitsInTheLastPlace) {
  for_each_isa([] {
    for (const Row& row : kRows) {
      const auto n = static_cast<int64_t>(row.values.size());
      std::vector<float> x, y(row.values.size());
      for (const Value& v : row.values) x.push_back(v.x);
      run(*row.kernel, ScalarType::Float, {x.data()}, y.data(), n);
      for (size_t i = 0; i < y.size(); i++) {
        const double want = row.values[i].y, got = y[i];
        const bool overflows = std::fabs(want) > 3.4028235e38;
        EXPECT_TRUE(overflows ? std::isinf(got) && (got > 0) == (want > 0) : std::fabs(got - want) <= 2.5 * ulp(want) || got == want)
            << row.kernel->name << "(" << x[i] << ") is " << got << ", expected " << want << ", instruction set " << isa_name();
      }
    }
  });
}

TEST(SpecialFunctions, OutsideTheirDomains) {
  const float inf = INFINITY;
  struct Case {
    const PointwiseKernel* kernel;
    float x, y;
  };
  const Case cases[] = {
      {&lgamma_kernel, 0, inf},     {&lgamma_kernel, -3, inf},      {&lgamma_kernel, inf, inf},     {&lgamma_kernel, -inf, inf},   {&lgamma_kernel, NAN, NAN},
      {&i0_kernel, inf, inf},       {&i1_kernel, -inf, -inf},       {&i0e_kernel, inf, 0},          {&i1e_kernel, NAN, NAN},       {&k0_kernel, 0, inf},
      {&k1_kernel, 0, inf},         {&k0_kernel, -1, NAN},          {&k1e_kernel, inf, 0},          {&bessel_j0_kernel, NAN, NAN}, {&bessel_y0_kernel, 0, -inf},
      {&bessel_y1_kernel, -2, NAN}, {&spherical_j0_kernel, inf, 0}, {&airy_ai_kernel, inf, 0},      {&airy_ai_kernel, NAN, NAN},   {&ndtri_kernel, 0, -inf},
      {&ndtri_kernel, 1, inf},      {&ndtri_kernel, 1.5f, NAN},     {&entr_kernel, 0, 0},           {&entr_kernel, -1, -inf},      {&entr_kernel, NAN, NAN},
      {&ndtr_kernel, -inf, 0},      {&ndtr_kernel, NAN, NAN},       {&log_ndtr_kernel, -inf, -inf}, {&log_ndtr_kernel, NAN, NAN}};
  for_each_isa([&] {
    for (const Case& c : cases) {
      float y;
      run(*c.kernel, ScalarType::Float, {&c.x}, &y, 1);
      EXPECT_TRUE(y == c.y || (std::isnan(y) && std::isnan(c.y))) << c.kernel->name << "(" << c.x << ") is " << y << ", expected " << c.y;
    }
  });
}

template <class T> void check_power(double tolerance) {
  std::vector<T> x, y;
  for (const double a : {0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1.0000001, 1e30, -1e-30, 7.7, double(INFINITY), -double(INFINITY), double(NAN)})
    for (const double b : {0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, 2.5, -0.3, 40.0, 1e5, double(INFINITY), -double(INFINITY), double(NAN)}) {
      x.push_back(static_cast<T>(a));
      y.push_back(static_cast<T>(b));
    }
  for_each_isa([&] {
    std::vector<T> out(x.size());
    run(pow_kernel, dtype_of<T>, {x.data(), y.data()}, out.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); i++) {
      const auto want = static_cast<T>(std::pow(static_cast<long double>(x[i]), static_cast<long double>(y[i]))), got = out[i];
      if (std::isnan(want)) EXPECT_TRUE(std::isnan(got)) << x[i] << " to " << y[i] << " is " << got;
      else if (want == 0 || std::isinf(want)) EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want)) << x[i] << " to " << y[i] << " is " << got;
      else EXPECT_NEAR(got, want, tolerance * std::fabs(want)) << x[i] << " to " << y[i];
    }
  });
}
TEST(Power, Float) { check_power<float>(1e-7); }
TEST(Power, Double) { check_power<double>(3e-16); }

TEST(Power, OfANumberGoesThroughTheSameLoops) {
  const int64_t dense[] = {4}, same[] = {0};
  std::vector<float> x(100), y(100);
  for (size_t i = 0; i < x.size(); i++) x[i] = 0.1f * static_cast<float>(i);
  for (float e : {3.0f, 2.5f}) {
    const Operand operands[] = {{reinterpret_cast<char*>(y.data()), ScalarType::Float, dense},
                                {reinterpret_cast<char*>(x.data()), ScalarType::Float, dense},
                                {reinterpret_cast<char*>(&e), ScalarType::Float, same}};
    const ScalarType types[] = {ScalarType::Float, ScalarType::Float, ScalarType::Float};
    run_nd(100, operands, 1, types, pow_kernel.loop(ScalarType::Float), nullptr);
    for (size_t i = 0; i < x.size(); i++) EXPECT_NEAR(y[i], std::pow(static_cast<double>(x[i]), e), 3e-7 * y[i]) << x[i] << " to " << e;
  }
}

TEST(Trigamma, IsPolygammaOfOne) {
  const Scalar params[] = {1};
  const Value values[] = {
      {0.1f, 101.43329616778679}, {1, 1.6449340668482264}, {7.9f, 0.13493078172294945}, {20, 0.051270822935203119}, {-0.5f, 8.9348022005446793}};
  for_each_isa([&] {
    for (const Value& v : values) {
      float y;
      run(polygamma_kernel, ScalarType::Float, {&v.x}, &y, 1, params);
      EXPECT_NEAR(y, v.y, 2e-7 * v.y) << v.x;
    }
  });
}

TEST(Nextafter, CountsThroughZeroAndToInfinity) {
  const float tiny = std::nextafterf(0.0f, 1.0f), x[] = {0, -0.0f, tiny, 1, -1, 3.4028235e38f, 1, NAN}, to[] = {1, -1, -1, 2, 2, INFINITY, 1, 1};
  for_each_isa([&] {
    float y[8];
    run(nextafter_kernel, ScalarType::Float, {x, to}, y, 8);
    for (int i = 0; i < 7; i++) EXPECT_EQ(y[i], std::nextafterf(x[i], to[i])) << x[i] << " to " << to[i];
    EXPECT_TRUE(std::isnan(y[7]));
  });
}

}  // namespace
}  // namespace cresset::kernels
