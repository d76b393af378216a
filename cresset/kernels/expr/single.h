#pragma once
// Special functions for float arguments: computed in double, without branches, so that their loops vectorise. Each range of the argument
// has its polynomial, a fit through Chebyshev's nodes to about 1e-10; a result that rounds from it is within 0.51 units in the last place
// except where it passes through zero.

#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::expr::math::single {

constexpr double kPi = 3.14159265358979323846;

// |sin(pi x)|; its zeros are exact.
CRESSET_EXPR double abs_sin_pi(double x) {
  const double r = abs(x - round_nearest(x)), u = r * r;
  return r * poly(u, 3.1415926535897927, -5.1677127800497855, 2.5501640398618677, -0.599264528825224, 0.08214587881631043, -0.0073703643265304155,
                  0.0004659870158043378, -2.113362735205297e-05);
}

// Next to 1 and 2 by a polynomial with these zeros, elsewhere by Stirling's series from 8 on, to which (y)_8 leads from below. Reflected
// below 1/2, where the largest floats are integers.
CRESSET_EXPR double lgamma(double x) {
  const bool reflected = x < 0.5;
  const double y = reflected ? 1 - x : x, z0 = y < 1 ? y + 1 : y, t = (z0 - 1.7) * (1 / 0.7);
  const bool near = y < 2.4, small = y < 8;
  const double near_value = (z0 - 1) * (z0 - 2) *
                            poly(t, 0.45622713053605624, -0.08685674224207508, 0.02328267712368713, -0.007175685061469795, 0.002380966321118082,
                                 -0.0008260099231323722, 0.00029482971367011165, -0.00010749504550046849, 4.0491298035964596e-05, -1.517050272702418e-05,
                                 4.701362658135228e-06, -1.7812799319763335e-06, 1.4311082147215034e-06, -5.533402604932284e-07);
  const double u = y * (y + 7), rising = u * (u + 6) * (u + 10) * (u + 12);
  const double z = small ? y + 8 : y, v = 1 / z, w = v * v;
  const double stirling =
      (z - 0.5) * log(z) - z + 0.91893853320467274178 +
      v * poly(w, 0.0833333333333333, -0.002777777777606244, 0.0007936506649488251, -0.0005952025951802608, 0.0008372834512064689, -0.001652600445544065);
  const double factor = near ? (y < 1 ? y : 1.0) : small ? rising : 1.0, base = near ? near_value : stirling;
  const double l = log(reflected ? factor * kPi / abs_sin_pi(abs(x) < 4e9 ? x : 0.0) : factor);
  // Zeros are positive.
  const double value = (reflected ? l - base : base - l) + 0.0;
  return abs(x) == inf<double> ? inf<double> : value;
}

// The recurrence from 8 down, two terms to a division, and the asymptotic series; reflected below 1/2.
CRESSET_EXPR double trigamma(double x) {
  const bool reflected = x < 0.5;
  const double y = reflected ? 1 - x : x;
  const bool small = y < 8;
  double sum = 0;
  for (int k = 0; k < 8; k += 2) {
    const double a = (y + k) * (y + k), b = (y + k + 1) * (y + k + 1);
    sum += (a + b) / (a * b);
  }
  const double z = small ? y + 8 : y, v = 1 / z, w = v * v;
  const double tail =
      v + w * 0.5 +
      v * w * poly(w, 0.1666666666666603, -0.03333333330396469, 0.023809501741136625, -0.03332722719800376, 0.0749845418675311, -0.20667659543506534);
  const double value = (small ? sum : 0.0) + tail, s = abs_sin_pi(abs(x) < 4e9 ? x : 0.0);
  return reflected ? kPi * kPi / (s * s) - value : value;
}

// Modified Bessel functions of the first kind, of order 0 and 1, for a >= 0: below 8 themselves in `near`, above times e^-a in `far`.
struct BesselI {
  double near, far;
};
CRESSET_EXPR BesselI bessel_i(int order, double a) {
  const double s = a * 0.125, u = s * s, v = 8 / a, root = sqrt(1 / a);
  if (order == 0)
    return {poly(u, 1.000000000005861, 15.999999998019371, 64.00000011078905, 113.7777753455536, 113.77780548550498, 72.81759021940924, 32.364270124238914,
                 10.565302241301294, 2.6465729893082144, 0.5155756990313006, 0.08916649059657404, 0.0078029299640926825, 0.002254088075967493),
            root * poly(v, 0.39894228041030566, 0.006233471365185029, 0.00043834798449175815, 5.6373014913269896e-05, 1.513680871379242e-05,
                        -1.138576682296772e-05, 2.8396818096990834e-05, -3.0271654128559372e-05, 1.7886910472449588e-05, -3.893521974800167e-06)};
  return {s * poly(u, 3.9999999999240066, 32.0000000218799, 85.3333322918903, 113.77779716606703, 91.02203603159144, 48.54623816195162, 18.489638199438552,
                   5.292663550307745, 1.1604348353664422, 0.2227482128546127, 0.021483029826323597, 0.006765281379426754),
          root * poly(v, 0.39894228039210217, -0.01870041753677245, -0.0007305449492151413, -7.916549754548987e-05, -1.8466527780339088e-05,
                      1.1452080001553759e-05, -2.9822735965447327e-05, 3.153720495775477e-05, -1.8582305993747714e-05, 3.996470368048098e-06)};
}
CRESSET_EXPR double odd_as(int order, double value, double x) { return order ? copysign(value, x) : value; }
CRESSET_EXPR double bessel_i_plain(int order, double x) {
  const double a = abs(x);
  const auto [near, far] = bessel_i(order, a);
  return odd_as(order, a < 8 ? near : a == inf<double> ? a : far * exp(a), x);
}
CRESSET_EXPR double bessel_i_scaled(int order, double x) {
  const double a = abs(x);
  const auto [near, far] = bessel_i(order, a);
  return odd_as(order, a < 8 ? near * exp(-a) : a == inf<double> ? 0.0 : far, x);
}

// Those of the second kind: below 2 the series with a logarithm, in `near`, above times e^x in `far`.
CRESSET_EXPR BesselI bessel_k(int order, double x) {
  const double h = x * 0.5, u = h * h, l = log(h), v = 2 / x, root = sqrt(1 / x);
  if (order == 0)
    return {poly(u, -0.5772156649015752, 0.4227843351038841, 0.23069608366091957, 0.03489215836511197, 0.002614784054960468, 0.0001184879755938359,
                 3.603707018256074e-06, 8.478357758845515e-08) -
                l * poly(u, 1.0000000000050755, 0.9999999995026859, 0.25000000795059774, 0.027777730150937156, 0.0017362468026682779, 6.924644897597303e-05,
                         2.071469971991198e-06),
            root * poly(v, 1.2533141371863887, -0.0783321021670923, 0.0220296115272217, -0.0114527464007329, 0.008592014391454393, -0.00783104251848943,
                        0.007202167909421331, -0.005600472527906405, 0.0031687873127599444, -0.001110988057552171, 0.00017781680939559107)};
  const double i1 = h * poly(u, 1.0000000000006306, 0.4999999999382096, 0.08333333432126852, 0.006944438525324935, 0.0003472390913705299,
                             1.1549445445807582e-05, 2.93314439692953e-07);
  const double series = l * i1 + poly(u, 1.000000000000662, 0.1544313297183586, -0.6727843333206447, -0.18157518116747737, -0.019182134132400937,
                                      -0.0011154779646319164, -4.128322874354525e-05, -1.1562714055762975e-06) /
                                     x;
  return {x == 0 ? inf<double> : series,
          root * poly(v, 1.2533141373506702, 0.23499639057378083, -0.036717687591697176, 0.016054313323182308, -0.011190474940390471, 0.010186271656208456,
                      -0.010193458776432237, 0.009458782766668212, -0.007054347974470201, 0.003743448146243397, -0.0012229311665315596, 0.0001825301689600348)};
}
CRESSET_EXPR double bessel_k_plain(int order, double x) {
  const auto [near, far] = bessel_k(order, x);
  return x <= 2 ? near : x == inf<double> ? 0.0 : far * exp(-x);
}
CRESSET_EXPR double bessel_k_scaled(int order, double x) {
  const auto [near, far] = bessel_k(order, x);
  return x <= 2 ? near * exp(x) : x == inf<double> ? 0.0 : far;
}

// sin and cos for |x| up to kTrigLimit.
struct SinCos {
  double sin, cos;
};
CRESSET_EXPR SinCos sin_cos(double x) { return {sin_cos_double(x, 0), sin_cos_double(x, 1)}; }

// Bessel functions of the first and second kind: below 5 by their power series, with their zeros as factors and the logarithm's part apart,
// above by Hankel's expansion (DLMF 10.17.3), up to kTrigLimit.
struct Hankel {
  double p, q;
};
CRESSET_EXPR Hankel hankel(int order, double a) {
  const double v = 5 / a, s = v * v;
  if (order == 0)
    return {poly(s, 0.9999999999994349, -0.0028124998860269384, 0.0001794394389691321, -3.658574184492323e-05, 1.5146121203234349e-05, -9.396254273857696e-06,
                 6.353703252152761e-06, -3.5418371728548395e-06, 1.2878492220644605e-06, -2.1770981454387053e-07),
            poly(s, -0.12499999999912828, 0.002929687287260696, -0.000363363928709427, 0.00011042460575600784, -6.104690005409763e-05, 4.8604910541298885e-05,
                 -4.289852660162948e-05, 3.319352779733168e-05, -1.8875907162044795e-05, 6.661031404708693e-06, -1.072267544964208e-06) /
                a};
  return {poly(s, 1.0000000000006106, 0.004687499876876485, -0.0002307086566434034, 4.3243260983415976e-05, -1.718775741608253e-05, 1.0438574312362152e-05,
               -6.984708336708708e-06, 3.8736450674607535e-06, -1.404747732160636e-06, 2.3711295209488317e-07),
          poly(s, 0.3749999999990653, -0.0041015622718979265, 0.00044411280179423244, -0.00012742535591146818, 6.829307608264992e-05, -5.3436737298725675e-05,
               4.6734791822137863e-05, -3.59944001173019e-05, 2.0418256813077118e-05, -7.195142177152605e-06, 1.157237516363706e-06) /
              a};
}
CRESSET_EXPR double bessel_j_series(int order, double a) {
  const double u = a * a;
  if (order == 0)
    return (u - 5.783185962946784) * poly(u, -0.17291506903062326, 0.01332914615961511, -0.0003969877250352597, 6.4047831196519565e-06, -6.517179553526904e-08,
                                          4.573581848605973e-10, -2.3490599273455712e-12, 9.19680064145616e-15, -2.7720992345862724e-17, 5.518613289062708e-20);
  return a * (u - 14.681970642123893) *
         poly(u, -0.034055373913114265, 0.001937384753926764, -4.5415014159668065e-05, 6.019937382292553e-07, -5.188254404452026e-09, 3.153723762852369e-11,
              -1.424670747701892e-13, 4.865416445842325e-16, -1.0826927275868317e-18);
}
// cos and sin of a - pi / 4 (1 + 2 order), times the square root of 2.
CRESSET_EXPR SinCos hankel_phase(int order, double a) {
  const auto [s, c] = sin_cos(a);
  if (order == 0) return {s - c, c + s};
  return {-(s + c), s - c};
}
CRESSET_EXPR double bessel_j(int order, double x) {
  const double a = abs(x);
  const auto [p, q] = hankel(order, a);
  const auto [s, c] = hankel_phase(order, a);
  const double far = sqrt(1 / (kPi * a)) * (p * c - q * s);
  return odd_as(order, 1.0, x) * (a < 5 ? bessel_j_series(order, a) : far);
}
CRESSET_EXPR double bessel_y(int order, double x) {
  const auto [p, q] = hankel(order, x);
  const auto [s, c] = hankel_phase(order, x);
  const double far = sqrt(1 / (kPi * x)) * (p * s + q * c), u = x * x, l = log(x), j = bessel_j_series(order, x);
  double near;
  if (order == 0)
    near = 2 / kPi * l * j + poly(u, -0.07380429510842171, 0.17760601686649646, -0.01607396802182137, 0.0005386026642879638, -9.495004379318026e-06,
                                  1.0358460552942886e-07, -7.69289867883213e-10, 4.142199474114305e-12, -1.6866222012491493e-14, 5.22816175092703e-17,
                                  -1.045566036952408e-19);
  else
    near = 2 / kPi * (l * j - 1 / x) + x * poly(u, -0.19605709064531623, 0.05434868815312661, -0.0029553053263209543, 7.164268249109808e-05,
                                                -9.926727546991225e-07, 8.93168327663806e-09, -5.6462239718251884e-11, 2.639210761706868e-13,
                                                -9.23396127053281e-16, 2.055885627310168e-18);
  return x == 0 ? -inf<double> : x < 5 ? near : far;
}

// Ai: a polynomial in the middle, DLMF 9.7.5 and 9.7.9 outside, up to kTrigLimit in (2/3) |x|^(3/2).
CRESSET_EXPR double airy_ai(double x) {
  const double a = abs(x), root = sqrt(a), zeta = 2.0 / 3 * a * root, v = 2.6352313834736494433 / zeta, s = v * v, quarter = sqrt(root);
  const double middle = poly(x, 0.35502805389171777, -0.25881940379401003, -1.2472300150381276e-10, 0.05917134235314713, -0.021568282993384456,
                             -2.0351956875051746e-10, 0.001972376743451198, -0.0005135301455734784, 1.3706907803116456e-09, 2.7393704616071406e-05,
                             -5.706698913322507e-06, 2.6104617660604795e-10, 2.0781518707585823e-07, -3.667170814246766e-08, -6.076486132616768e-11,
                             1.0099064326167887e-09, -1.449043631954124e-10, -2.9843813592402672e-12, 2.792529874201817e-12, -2.1587489365258642e-13);
  const double decay = exp(-zeta) * (0.5 / 1.77245385090551602730) / quarter *
                       poly(v, 0.9999999999612471, -0.02635230613613534, 0.005346960629979087, -0.002072544359495008, 0.0011699126109330656,
                            -0.000802191679079362, 0.0005450331310879805, -0.0002977195716280323, 0.00010602607277007158, -1.7632585905395008e-05);
  const double p = poly(s, 0.9999999999929978, -0.005347219440764165, 0.0011952206148114373, -0.0008650950958636511, 0.001232673333095744,
                        -0.0024371023604733886, 0.005011689828923521, -0.008966331217130466, 0.012704427002789516, -0.013486333979440398, 0.010223346615017734,
                        -0.005194853647370359, 0.0015801192611509948, -0.00021702898477248035);
  const double q = poly(s, 0.06944444443668586, -0.0054709964911930035, 0.002407066122986027, -0.0026069376052009377, 0.0050131937971356925,
                        -0.01304535447271432, 0.03589717260420567, -0.08868464694818436, 0.18040430240995925, -0.2888789436019881, 0.35369660425334765,
                        -0.3221044571400285, 0.2103470912321222, -0.09286803774434596, 0.02478653833050747, -0.003016930297628311) /
                   zeta;
  const auto [sin, cos] = hankel_phase(0, zeta);
  const double wave = (p * cos + q * sin) * (0.70710678118654752440 / 1.77245385090551602730) / quarter;
  return a < 2.5 ? middle : x > 0 ? (x == inf<double> ? 0.0 : decay) : wave;
}

CRESSET_EXPR double spherical_j0(double x) {
  const double z = x * x;
  const double near = poly(z, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800);
  return abs(x) < 0.5 ? near : sin_cos_double(x, 0) / x;
}

// The normal distribution's quantile: in (p - 1/2)^2 in the middle, in sqrt(-log p) at the ends.
CRESSET_EXPR double ndtri(double p) {
  const double q = p - 0.5, square = q * q, least = p < 0.5 ? p : 1 - p, r = sqrt(-log(least));
  const double middle =
      q * poly(square * (2 / 0.180625) - 1, 2.8067362499077744, 0.38539044952564117, 0.11648713026568568, 0.04407115729566967, 0.018551862696027897,
               0.008321473230257519, 0.0038835170407111918, 0.001815158746133692, 0.0008883922882521206, 0.0005641483871998418, 0.0002879218089746526,
               -1.1431438051156566e-05, -8.042706078714572e-06, 0.00010134090709536754, 5.3541118012248216e-05);
  const double near = poly((r - 3.3) * (1 / 1.7), 4.123675044931539, 2.5830848863439884, -0.0685107730497553, 0.027865790080534233, -0.011726814944777161,
                           0.005047522097369543, -0.0021978165037309385, 0.0009755720228143664, -0.00047361551111753955, 0.00021607726421769748,
                           -4.785904099414788e-05, 2.1443826495985147e-05, -4.7287047779237696e-05, 2.247391837033647e-05);
  const double far = poly((r - 7.65) * (1 / 2.65), 10.511162523253027, 3.8233226332197434, -0.021083858941585407, 0.006171158348011872, -0.0018575906291463085,
                          0.0005684384069337886, -0.00017109898605285325, 5.3445695797697685e-05, -2.2506648557467755e-05, 7.1423315344967455e-06);
  const double tail = r < 5 ? near : r == inf<double> ? r : far;
  return abs(q) <= 0.425 ? middle : p < 0.5 ? -tail : tail;
}

}  // namespace cresset::kernels::expr::math::single
