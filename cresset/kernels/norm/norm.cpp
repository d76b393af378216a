#include "cresset/kernels/norm/norm.h"

#include <cmath>
#include <vector>

#include "cresset/kernels/layout/cpu/convert.h"
#include "cresset/kernels/norm/cpu/norm_kernels.h"

namespace cresset::kernels {

namespace {

ScalarType compute_dtype(ScalarType x) { return x == ScalarType::Double ? ScalarType::Double : ScalarType::Float; }
int64_t bytes(ScalarType t) { return static_cast<int64_t>(element_size(t)); }

// An array in the compute dtype: the given one, a conversion of it, or `otherwise` n times where there is none.
class Input {
 public:
  Input(const char* p, ScalarType from, ScalarType to, int64_t n) : data_(p) {
    if (p && from != to) {
      char* own = allocate(to, n);
      converter(from, to)(own, bytes(to), p, bytes(from), n);
    }
  }
  Input(const char* p, ScalarType from, ScalarType to, int64_t n, double otherwise) : Input(p, from, to, n) {
    if (p) return;
    char* own = allocate(to, n);
    converter(ScalarType::Double, to)(own, bytes(to), reinterpret_cast<const char*>(&otherwise), 0, n);
  }
  operator const char*() const { return data_; }

 private:
  char* allocate(ScalarType t, int64_t n) {
    own_.resize(static_cast<size_t>(n * bytes(t) / 8 + 1));
    data_ = reinterpret_cast<const char*>(own_.data());
    return reinterpret_cast<char*>(own_.data());
  }
  std::vector<double> own_;
  const char* data_;
};

// Where a kernel writes an array in the compute dtype: the target itself, or memory that finish() converts from.
class Output {
 public:
  Output(char* p, ScalarType from, ScalarType to, int64_t n) : target_(p), from_(from), to_(to), n_(n) {
    if (p && from != to) own_.resize(static_cast<size_t>(n * bytes(from) / 8 + 1));
  }
  operator char*() { return own_.empty() ? target_ : reinterpret_cast<char*>(own_.data()); }
  void finish() {
    if (!own_.empty()) converter(from_, to_)(target_, bytes(to_), reinterpret_cast<const char*>(own_.data()), bytes(from_), n_);
  }

 private:
  std::vector<double> own_;
  char* target_;
  ScalarType from_, to_;
  int64_t n_;
};

void fill_zero(char* p, ScalarType t, int64_t n) {
  if (p) __builtin_memset(p, 0, static_cast<size_t>(n * bytes(t)));
}

// Shared by layer and RMS norm. A null mean pointer with `rms`.
void row_norm_of(const char* x, const char* weight, const char* bias, char* y, char* mean, char* rstd, const NormDtypes& t, int64_t rows, int64_t cols,
                 double eps, bool rms) {
  if (rows == 0 || cols == 0) return;
  const ScalarType a = compute_dtype(t.x);
  const Input w(weight, t.param, a, cols, 1), b(bias, t.param, a, cols, 0);
  Output m(mean, a, t.stat, rows), s(rstd, a, t.stat, rows);
  call(row_norm_stub)({t.x, x, w, b, y, m, s, rows, cols, eps, rms});
  m.finish();
  s.finish();
}

void row_norm_backward_of(const char* dy, const char* x, const char* mean, const char* rstd, const char* weight, char* dx, char* dweight, char* dbias,
                          const NormDtypes& t, int64_t rows, int64_t cols, bool rms) {
  if (rows == 0 || cols == 0) {
    fill_zero(dweight, t.param, cols);
    fill_zero(dbias, t.param, cols);
    return;
  }
  const ScalarType a = compute_dtype(t.x);
  const Input w(weight, t.param, a, cols, 1), m(mean, t.stat, a, rows), s(rstd, t.stat, a, rows);
  Output dw(dweight, a, t.param, cols), db(dbias, a, t.param, cols);
  call(row_norm_backward_stub)({t.x, dy, x, m, s, w, dx, dw, db, rows, cols, rms});
  dw.finish();
  db.finish();
}

}  // namespace

void layer_norm(const LayerNormArgs& a) { row_norm_of(a.x, a.weight, a.bias, a.y, a.mean, a.rstd, a.dtypes, a.rows, a.cols, a.eps, false); }
void layer_norm_backward(const LayerNormBackwardArgs& a) {
  row_norm_backward_of(a.dy, a.x, a.mean, a.rstd, a.weight, a.dx, a.dweight, a.dbias, a.dtypes, a.rows, a.cols, false);
}
void rms_norm(const RmsNormArgs& a) { row_norm_of(a.x, a.weight, nullptr, a.y, nullptr, a.rstd, a.dtypes, a.rows, a.cols, a.eps, true); }
void rms_norm_backward(const RmsNormBackwardArgs& a) {
  row_norm_backward_of(a.dy, a.x, nullptr, a.rstd, a.weight, a.dx, a.dweight, nullptr, a.dtypes, a.rows, a.cols, true);
}

void group_norm(const GroupNormArgs& a) {
  if (a.n * a.channels * a.spatial == 0) return;
  const ScalarType t = compute_dtype(a.dtypes.x);
  const Input w(a.weight, a.dtypes.param, t, a.channels), b(a.bias, a.dtypes.param, t, a.channels);
  Output m(a.mean, t, a.dtypes.stat, a.n * a.groups), s(a.rstd, t, a.dtypes.stat, a.n * a.groups);
  call(group_norm_kernel_stub)({a.dtypes.x, a.x, w, b, a.y, m, s, a.n, a.channels, a.spatial, a.groups, a.eps});
  m.finish();
  s.finish();
}

void group_norm_backward(const GroupNormBackwardArgs& a) {
  if (a.n * a.channels * a.spatial == 0) {
    fill_zero(a.dweight, a.dtypes.param, a.channels);
    fill_zero(a.dbias, a.dtypes.param, a.channels);
    return;
  }
  const ScalarType t = compute_dtype(a.dtypes.x);
  const int64_t rows = a.n * a.groups;
  const Input w(a.weight, a.dtypes.param, t, a.channels), m(a.mean, a.dtypes.stat, t, rows), s(a.rstd, a.dtypes.stat, t, rows);
  Output dw(a.dweight, t, a.dtypes.param, a.channels), db(a.dbias, t, a.dtypes.param, a.channels);
  call(group_norm_backward_kernel_stub)({a.dtypes.x, a.dy, a.x, m, s, w, a.dx, dw, db, a.n, a.channels, a.spatial, a.groups});
  dw.finish();
  db.finish();
}

void batch_norm_train(const BatchNormArgs& a) {
  if (a.n * a.channels * a.spatial == 0) return;
  const ScalarType t = compute_dtype(a.dtypes.x), stat = a.dtypes.stat;
  const Input w(a.weight, a.dtypes.param, t, a.channels), b(a.bias, a.dtypes.param, t, a.channels);
  const auto memory = static_cast<size_t>(a.channels * bytes(t) / 8 + 1);
  std::vector<double> batch_mean(memory), batch_var(memory);
  char *mean = reinterpret_cast<char*>(batch_mean.data()), *var = reinterpret_cast<char*>(batch_var.data());
  Output s(a.rstd, t, stat, a.channels);
  const BatchNorm args{a.dtypes.x, a.x, w, b, a.y, mean, var, s, a.n, a.channels, a.spatial, a.eps, a.residual, a.relu};
  if (a.spatial == 1) call(batch_norm_columns_stub)(args);
  else call(batch_norm_kernel_stub)(args);
  s.finish();
  if (a.mean) converter(t, stat)(a.mean, bytes(stat), mean, bytes(t), a.channels);

  const double count = static_cast<double>(a.n * a.spatial), unbiased = count / (count - 1);
  const auto update = [&](char* running, const char* batch, double factor) {
    if (!running) return;
    const Input old(running, stat, ScalarType::Double, a.channels), fresh(batch, t, ScalarType::Double, a.channels);
    Output out(running, ScalarType::Double, stat, a.channels);
    const auto *from = reinterpret_cast<const double*>(static_cast<const char*>(old)), *to = reinterpret_cast<const double*>(static_cast<const char*>(fresh));
    auto* y = reinterpret_cast<double*>(static_cast<char*>(out));
    for (int64_t c = 0; c < a.channels; c++) y[c] = from[c] + a.momentum * (factor * to[c] - from[c]);
    out.finish();
  };
  update(a.running_mean, mean, 1);
  update(a.running_var, var, unbiased);
}

void batch_norm_eval(const BatchNormEvalArgs& a) {
  if (a.n * a.channels * a.spatial == 0) return;
  const ScalarType t = compute_dtype(a.dtypes.x);
  const Input w(a.weight, a.dtypes.param, t, a.channels), b(a.bias, a.dtypes.param, t, a.channels), m(a.mean, a.dtypes.stat, t, a.channels);
  const Input var(a.rstd ? nullptr : a.var, a.dtypes.stat, ScalarType::Double, a.channels);
  std::vector<double> rstd(static_cast<size_t>(a.rstd ? 0 : a.channels));
  for (size_t c = 0; c < rstd.size(); c++) rstd[c] = 1 / std::sqrt(reinterpret_cast<const double*>(static_cast<const char*>(var))[c] + a.eps);
  const Input s(a.rstd ? a.rstd : reinterpret_cast<const char*>(rstd.data()), a.rstd ? a.dtypes.stat : ScalarType::Double, t, a.channels);
  const BatchNormApply args{a.dtypes.x, a.x, w, b, m, s, a.y, a.n, a.channels, a.spatial, a.residual, a.relu};
  if (a.spatial == 1 && !a.residual && !a.relu) call(batch_norm_apply_columns_stub)(args);
  else call(batch_norm_apply_stub)(args);
}

void batch_norm_backward(const BatchNormBackwardArgs& a) {
  if (a.n * a.channels * a.spatial == 0) {
    fill_zero(a.dweight, a.dtypes.param, a.channels);
    fill_zero(a.dbias, a.dtypes.param, a.channels);
    return;
  }
  const ScalarType t = compute_dtype(a.dtypes.x);
  const Input w(a.weight, a.dtypes.param, t, a.channels), m(a.mean, a.dtypes.stat, t, a.channels), s(a.rstd, a.dtypes.stat, t, a.channels);
  Output dw(a.dweight, t, a.dtypes.param, a.channels), db(a.dbias, t, a.dtypes.param, a.channels);
  const BatchNormBackward args{a.dtypes.x, a.dy, a.x, m, s, w, a.dx, dw, db, a.n, a.channels, a.spatial, a.train, a.y};
  if (a.spatial == 1) call(batch_norm_backward_columns_stub)(args);
  else call(batch_norm_backward_kernel_stub)(args);
  dw.finish();
  db.finish();
}

}  // namespace cresset::kernels
