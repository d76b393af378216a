#include "cresset/kernels/training/optim.h"

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/training/cpu/optim.h"

namespace cresset::kernels {

namespace {

constexpr int64_t kGrain = 16384;

template <class T> T* shifted(void* p, int64_t by) { return p ? static_cast<T*>(p) + by : nullptr; }

template <class T, class Kernel, class Options>
void run(int64_t n, void* param, const void* grad, void* first, void* second, void* third, Kernel kernel, const Options& options) {
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    kernel(end - begin,
           OptimArrays<T>{shifted<T>(param, begin), static_cast<const T*>(grad) + begin, shifted<T>(first, begin), shifted<T>(second, begin),
                          shifted<T>(third, begin)},
           options);
  });
}

void check(const char* name, ScalarType dtype) {
  CRESSET_CHECK(dtype == kFloat || dtype == kDouble, name, ": unsupported dtype, got ", dtype, ", expected float32 or float64");
}

}  // namespace

void adam_step(ScalarType dtype, int64_t n, void* param, const void* grad, void* exp_avg, void* exp_avg_sq, void* max_exp_avg_sq, const AdamStep& options) {
  check("adam", dtype);
  if (dtype == kFloat) run<float>(n, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, call(adam_float_stub), options);
  else run<double>(n, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, call(adam_double_stub), options);
}

void sgd_step(ScalarType dtype, int64_t n, void* param, const void* grad, void* buffer, const SgdStep& options) {
  check("sgd", dtype);
  if (dtype == kFloat) run<float>(n, param, grad, buffer, nullptr, nullptr, call(sgd_float_stub), options);
  else run<double>(n, param, grad, buffer, nullptr, nullptr, call(sgd_double_stub), options);
}

void rmsprop_step(ScalarType dtype, int64_t n, void* param, const void* grad, void* square_avg, void* buffer, void* grad_avg, const RmspropStep& options) {
  check("rmsprop", dtype);
  if (dtype == kFloat) run<float>(n, param, grad, square_avg, buffer, grad_avg, call(rmsprop_float_stub), options);
  else run<double>(n, param, grad, square_avg, buffer, grad_avg, call(rmsprop_double_stub), options);
}

void adagrad_step(ScalarType dtype, int64_t n, void* param, const void* grad, void* sum, const AdagradStep& options) {
  check("adagrad", dtype);
  if (dtype == kFloat) run<float>(n, param, grad, sum, nullptr, nullptr, call(adagrad_float_stub), options);
  else run<double>(n, param, grad, sum, nullptr, nullptr, call(adagrad_double_stub), options);
}

}  // namespace cresset::kernels
