#include "cresset/kernels/norm/norm.h"

#include <gtest/gtest.h>

#include "tests/kernels/array.h"
#include "tests/kernels/norm_reference.h"

namespace cresset::kernels {
namespace {

using namespace testing;

// The dtypes that occur together: statistics are float for the half types, weights float or the input's.
std::vector<NormDtypes> dtype_sets() {
  std::vector<NormDtypes> sets;
  for (const ScalarType t : kFloatDTypes) {
    const ScalarType stat = t == kDouble ? kDouble : kFloat;
    sets.push_back({t, t, stat});
    if (t == kHalf || t == kBFloat16) sets.push_back({t, kFloat, stat});
  }
  return sets;
}

Array filled(ScalarType t, Shape shape, unsigned seed, double scale = 1, double shift = 0) {
  Array a(t, std::move(shape));
  fill(a, seed);
  for (int64_t i = 0; i < a.numel(); i++) a.set<double>(i, scale * a.get<double>(i) + shift);
  return a;
}
const char* null_or(Array& a, bool given) { return given ? a.data() : nullptr; }

void check_rows(const NormDtypes& t, int64_t rows, int64_t cols, bool rms, bool affine) {
  Array x = filled(t.x, {rows, cols}, 1, 2, 0.5), dy = filled(t.x, {rows, cols}, 2), w = filled(t.param, {cols}, 3, 1, 1), b = filled(t.param, {cols}, 4);
  Array y = x, y2 = x, m(t.stat, {rows}), m2 = m, s = m, s2 = m, dx = x, dx2 = x, dw = w, dw2 = w, db = w, db2 = w;
  const auto forward = [&](auto layer, auto root_mean_square, Array& y, Array& m, Array& s) {
    if (rms) return root_mean_square(RmsNormArgs{x.data(), null_or(w, affine), y.data(), s.data(), t, rows, cols, 1e-5});
    layer(LayerNormArgs{x.data(), null_or(w, affine), null_or(b, affine), y.data(), m.data(), s.data(), t, rows, cols, 1e-5});
  };
  const auto backward = [&](auto layer, auto root_mean_square, Array& dx, Array& dw, Array& db) {
    if (rms) return root_mean_square(RmsNormBackwardArgs{dy.data(), x.data(), s2.data(), null_or(w, affine), dx.data(), dw.data(), t, rows, cols});
    layer(LayerNormBackwardArgs{dy.data(), x.data(), m2.data(), s2.data(), null_or(w, affine), dx.data(), dw.data(), db.data(), t, rows, cols});
  };
  forward(layer_norm, rms_norm, y, m, s);
  forward(reference::layer_norm, reference::rms_norm, y2, m2, s2);
  const double ulps = 40;
  expect_close(y, y2, ulps, "y");
  expect_close(s, s2, ulps, "rstd");
  if (!rms) expect_close(m, m2, 4, "mean");
  backward(layer_norm_backward, rms_norm_backward, dx, dw, db);
  backward(reference::layer_norm_backward, reference::rms_norm_backward, dx2, dw2, db2);
  expect_close(dx, dx2, ulps, "dx");
  expect_close(dw, dw2, ulps, "dweight");
  if (!rms) expect_close(db, db2, ulps, "dbias");
}

TEST(Norm, RowsOfEveryDtypeAndLength) {
  for_each_isa([] {
    for (const NormDtypes& t : dtype_sets())
      for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{3, 2}, {5, 10}, {4, 64}, {200, 33}, {3, 768}, {2, 5003}, {0, 4}})
        for (const bool rms : {false, true})
          for (const bool affine : {false, true}) check_rows(t, rows, cols, rms, affine);
  });
}

void check_groups(const NormDtypes& t, int64_t n, int64_t channels, int64_t spatial, int64_t groups, bool affine) {
  Array x = filled(t.x, {n, channels, spatial}, 1, 2, 0.5), dy = filled(t.x, {n, channels, spatial}, 2), w = filled(t.param, {channels}, 3, 1, 1),
        b = filled(t.param, {channels}, 4);
  Array y = x, y2 = x, m(t.stat, {n, groups}), m2 = m, s = m, s2 = m, dx = x, dx2 = x, dw = w, dw2 = w, db = w, db2 = w;
  GroupNormArgs f{x.data(), null_or(w, affine), null_or(b, affine), y.data(), m.data(), s.data(), t, n, channels, spatial, groups, 1e-5};
  group_norm(f);
  f.y = y2.data(), f.mean = m2.data(), f.rstd = s2.data();
  reference::group_norm(f);
  expect_close(y, y2, 40, "y");
  expect_close(m, m2, 4, "mean");
  expect_close(s, s2, 40, "rstd");
  GroupNormBackwardArgs g{dy.data(), x.data(), m2.data(), s2.data(), null_or(w, affine), dx.data(), dw.data(), db.data(), t, n, channels, spatial, groups};
  group_norm_backward(g);
  g.dx = dx2.data(), g.dweight = dw2.data(), g.dbias = db2.data();
  reference::group_norm_backward(g);
  expect_close(dx, dx2, 60, "dx");
  expect_close(dw, dw2, 40, "dweight");
  expect_close(db, db2, 40, "dbias");
}

TEST(Norm, Groups) {
  for_each_isa([] {
    for (const NormDtypes& t : dtype_sets())
      for (const bool affine : {false, true}) {
        check_groups(t, 3, 6, 10, 2, affine);
        check_groups(t, 2, 4, 49, 4, affine);
        check_groups(t, 2, 8, 1, 2, affine);
        check_groups(t, 1, 3, 5000, 1, affine);
        check_groups(t, 0, 4, 3, 2, affine);
      }
  });
}

void check_batch(const NormDtypes& t, int64_t n, int64_t channels, int64_t spatial, bool affine) {
  Array x = filled(t.x, {n, channels, spatial}, 1, 2, 0.5), dy = filled(t.x, {n, channels, spatial}, 2), w = filled(t.param, {channels}, 3, 1, 1),
        b = filled(t.param, {channels}, 4);
  Array y = x, y2 = x, m(t.stat, {channels}), m2 = m, s = m, s2 = m, dx = x, dx2 = x, dw = w, dw2 = w, db = w, db2 = w;
  Array running_mean = filled(t.stat, {channels}, 5), running_var = filled(t.stat, {channels}, 6, 0.5, 1), mean2 = running_mean, var2 = running_var;
  BatchNormArgs f{
      x.data(), null_or(w, affine), null_or(b, affine), y.data(), m.data(), s.data(), running_mean.data(), running_var.data(), t, n, channels, spatial, 0.3,
      1e-5};
  batch_norm_train(f);
  f.y = y2.data(), f.mean = m2.data(), f.rstd = s2.data(), f.running_mean = mean2.data(), f.running_var = var2.data();
  reference::batch_norm_train(f);
  expect_close(y, y2, 40, "y");
  expect_close(m, m2, 4, "mean");
  expect_close(s, s2, 40, "rstd");
  expect_close(running_mean, mean2, 4, "running mean");
  expect_close(running_var, var2, 10, "running variance");
  BatchNormEvalArgs e{x.data(), null_or(w, affine), null_or(b, affine), mean2.data(), var2.data(), y.data(), t, n, channels, spatial, 1e-5};
  batch_norm_eval(e);
  e.y = y2.data();
  reference::batch_norm_eval(e);
  expect_close(y, y2, 10, "y of evaluation");
  for (const bool train : {true, false}) {
    BatchNormBackwardArgs g{dy.data(), x.data(), null_or(w, affine), m2.data(), s2.data(), dx.data(), dw.data(), db.data(), t, n, channels, spatial, train};
    batch_norm_backward(g);
    g.dx = dx2.data(), g.dweight = dw2.data(), g.dbias = db2.data();
    reference::batch_norm_backward(g);
    expect_close(dx, dx2, 60, "dx");
    expect_close(dw, dw2, 400, "dweight");  // a sum of thousands that mostly cancel
    expect_close(db, db2, 40, "dbias");
  }
}

TEST(Norm, Batches) {
  for_each_isa([] {
    for (const NormDtypes& t : dtype_sets())
      for (const bool affine : {false, true}) {
        check_batch(t, 4, 3, 20, affine);
        check_batch(t, 3, 5, 4200, affine);
        check_batch(t, 40, 7, 1, affine);
        check_batch(t, 300, 33, 1, affine);
        check_batch(t, 5, 4, 3, affine);
      }
  });
}

TEST(Norm, OffsetsDoNotCancelTheVariance) {
  for_each_isa([] {
    const NormDtypes t;
    for (const int64_t spatial : {int64_t{1}, int64_t{100}}) {
      Array x = filled(kFloat, {500, 3, spatial}, 1, 1, 3000), y = x, y2 = x, m(kFloat, {3}), m2 = m, s = m, s2 = m;
      BatchNormArgs f{x.data(), nullptr, nullptr, y.data(), m.data(), s.data(), nullptr, nullptr, t, 500, 3, spatial, 0.1, 1e-5};
      batch_norm_train(f);
      f.y = y2.data(), f.mean = m2.data(), f.rstd = s2.data();
      reference::batch_norm_train(f);
      expect_close(s, s2, 40, "rstd");
      expect_close(y, y2, 4000, "y");  // the mean itself is rounded to a float
    }
  });
}

TEST(Norm, SameNumbersOnAnyNumberOfThreads) {
  const NormDtypes t;
  Array x = filled(kFloat, {1000, 300, 1}, 1), dy = filled(kFloat, {1000, 300, 1}, 2), w = filled(kFloat, {1000}, 3), m = filled(kFloat, {1000}, 4), s = m;
  Array y = x, dw(kFloat, {300});
  expect_same_on_threads(y, [&] { layer_norm({x.data(), w.data(), w.data(), y.data(), m.data(), s.data(), t, 1000, 300, 1e-5}); });
  expect_same_on_threads(dw, [&] { layer_norm_backward({dy.data(), x.data(), m.data(), s.data(), w.data(), y.data(), dw.data(), nullptr, t, 1000, 300}); });
  expect_same_on_threads(y, [&] {
    batch_norm_train({x.data(), w.data(), w.data(), y.data(), m.data(), s.data(), nullptr, nullptr, t, 1000, 300, 1, 0.1, 1e-5});
  });
  expect_same_on_threads(y, [&] {
    batch_norm_train({x.data(), w.data(), w.data(), y.data(), m.data(), s.data(), nullptr, nullptr, t, 10, 300, 100, 0.1, 1e-5});
  });
  expect_same_on_threads(y, [&] {
    batch_norm_backward({dy.data(), x.data(), w.data(), m.data(), s.data(), y.data(), dw.data(), nullptr, t, 10, 300, 100, true});
  });
  expect_same_on_threads(y, [&] { group_norm({x.data(), w.data(), w.data(), y.data(), nullptr, nullptr, t, 10, 300, 100, 30, 1e-5}); });
}

}  // namespace
}  // namespace cresset::kernels
