// Ops from outside the tree: one with kernels and a gradient of its own, one made of other ops, one that says nothing of its
// gradient, one in-place.

#include "cresset/autograd/function.h"
#include "cresset/autograd/generated_support.h"
#include "cresset/dispatch/registration.h"
#include "cresset/ops/functions.h"

using namespace cresset;

namespace {

// scale * x^3
Tensor cube_cpu(const Tensor& x, double scale) {
  CRESSET_CHECK_TYPE(x.scalar_type() == kDouble, "demo::cube: expected a float64 tensor, got ", x);
  const Tensor in = x.contiguous();
  Tensor out = cresset::empty(in.sizes(), in.options());
  const double* from = in.data_ptr<double>();
  double* to = out.data_ptr<double>();
  for (int64_t i = 0; i < in.numel(); i++) to[i] = scale * from[i] * from[i] * from[i];
  return out;
}
Tensor cube_meta(const Tensor& x, double) { return cresset::empty_like(x); }

Tensor call_cube(const Tensor& x, double scale) {
  static const auto cube = dispatch::find_op("demo::cube").typed<Tensor(const Tensor&, double)>();
  return cube.call(x, scale);
}

struct Cube : autograd::Function<Cube> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, double scale) {
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    autograd::BelowAutograd below;
    return call_cube(x, scale);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * x * x * (3 * ctx->saved_data["scale"].to_double()), Tensor()};
  }
};
Tensor cube_autograd(const Tensor& x, double scale) { return Cube::apply(x, scale); }

std::tuple<Tensor, Tensor> mean_and_deviation(const Tensor& x) {
  const Tensor mean = x.mean();
  return {mean, (x - mean).pow(2).mean().sqrt()};
}

Tensor sign_cpu(const Tensor& x) { return x.sign(); }

Tensor& clear_cpu(Tensor& x) {
  double* data = x.data_ptr<double>();
  for (int64_t i = 0; i < x.numel(); i++) data[i] = 0;
  return x;
}

}  // namespace

CRESSET_LIBRARY(demo, m) {
  m.def("cube(Tensor x, float scale=1.0) -> Tensor");
  m.def("mean_and_deviation(Tensor x) -> (Tensor, Tensor)", &mean_and_deviation);
  m.def("sign(Tensor x) -> Tensor");
  m.def("clear_(Tensor(a!) x) -> Tensor(a!)");
}
CRESSET_LIBRARY_IMPL(demo, CPU, m) {
  m.impl("cube", &cube_cpu);
  m.impl("sign", &sign_cpu);
  m.impl("clear_", &clear_cpu);
}
CRESSET_LIBRARY_IMPL(demo, Meta, m) { m.impl("cube", &cube_meta); }
CRESSET_LIBRARY_IMPL(demo, Autograd, m) { m.impl("cube", &cube_autograd); }
