// A device from outside the tree: its own memory, eleven kernels, the CPU for everything else. Built several times under different
// names, so that several live in one process:
//   TOY_NAME      the device's name, as in "toy:0"
//   TOY_FALLBACK  whether ops without a kernel run on the CPU

#include <atomic>

#include "cresset/dispatch/registration.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/from_data.h"
#include "toy_memory.h"

#define TOY_TEXT_OF(x) #x
#define TOY_TEXT(x) TOY_TEXT_OF(x)

using namespace cresset;

namespace {

toy::Memory& memory() {
  static toy::Memory& m = *new toy::Memory;
  return m;
}

std::atomic<int> kernel_calls{0}, fallback_calls{0};

struct Registration {
  Registration() {
    dispatch::register_backend(TOY_TEXT(TOY_NAME), TOY_TEXT(TOY_NAME));
    type = Device(TOY_TEXT(TOY_NAME)).type();
    set_allocator(type, &memory());
  }
  DeviceType type = kCPU;
} const device;

bool is_mine(const Tensor& t) { return t.device().type() == device.type; }

// The device's processor reads its memory through addresses of its own.
Tensor seen_by_processor(const Tensor& t) {
  if (!is_mine(t)) {
    CRESSET_CHECK(t.is_cpu() && t.dim() == 0, TOY_TEXT(TOY_NAME), ": expected a tensor on the device or a number, got ", t);
    return t;
  }
  return from_blob(memory().processor_address(t.data_ptr()), t.sizes(), t.strides(), TensorOptions(t.scalar_type()));
}

// A kernel's results on the processor go into device memory of the same strides.
Tensor on_device(const Tensor& computed) {
  Tensor out = cresset::empty_strided(computed.sizes(), computed.strides(), TensorOptions(computed.scalar_type()).device(Device(device.type)));
  Tensor target = seen_by_processor(out);
  target.copy_(computed);
  return out;
}

Tensor& copy_inplace_kernel(Tensor& self, const Tensor& src, bool) {
  kernel_calls++;
  if (self.numel() == 0) return self;
  // The other side may be the CPU, or a device that only its own kernel can read and write.
  const Tensor from = is_mine(src) ? seen_by_processor(src) : src.is_cpu() ? src : src.cpu();
  if (is_mine(self) || self.is_cpu()) {
    Tensor to = is_mine(self) ? seen_by_processor(self) : self;
    to.copy_(from);
  } else {
    self.copy_(from.clone());
  }
  return self;
}
Tensor& fill_inplace_kernel(Tensor& self, const Scalar& value) {
  kernel_calls++;
  Tensor to = seen_by_processor(self);
  to.fill_(value);
  return self;
}
Tensor& zero_inplace_kernel(Tensor& self) { return fill_inplace_kernel(self, 0); }
Tensor add_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  kernel_calls++;
  return on_device(cresset::add(seen_by_processor(self), seen_by_processor(other), alpha));
}
Tensor& add_inplace_kernel(Tensor& self, const Tensor& other, const Scalar& alpha) {
  kernel_calls++;
  Tensor to = seen_by_processor(self);
  to.add_(seen_by_processor(other), alpha);
  return self;
}
Tensor mul_kernel(const Tensor& self, const Tensor& other) {
  kernel_calls++;
  return on_device(cresset::mul(seen_by_processor(self), seen_by_processor(other)));
}
Tensor mm_kernel(const Tensor& self, const Tensor& mat2) {
  kernel_calls++;
  return on_device(cresset::mm(seen_by_processor(self), seen_by_processor(mat2)));
}
Tensor addmm_kernel(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  kernel_calls++;
  return on_device(cresset::addmm(seen_by_processor(self), seen_by_processor(mat1), seen_by_processor(mat2), beta, alpha));
}
Tensor relu_kernel(const Tensor& self) {
  kernel_calls++;
  return on_device(cresset::relu(seen_by_processor(self)));
}
Tensor threshold_backward_kernel(const Tensor& grad_output, const Tensor& self, const Scalar& threshold) {
  kernel_calls++;
  return on_device(cresset::threshold_backward(seen_by_processor(grad_output), seen_by_processor(self), threshold));
}
Tensor sum_dims_kernel(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  kernel_calls++;
  return on_device(cresset::sum(seen_by_processor(self), dim, keepdim, dtype));
}

}  // namespace

// The macro's argument is taken literally; here it is a macro itself.
#define TOY_LIBRARY(ns, device, m) CRESSET_LIBRARY_IMPL(ns, device, m)

TOY_LIBRARY(cresset, TOY_NAME, m) {
  m.impl("copy_", &copy_inplace_kernel);
  m.impl("fill_.Scalar", &fill_inplace_kernel);
  m.impl("zero_", &zero_inplace_kernel);
  m.impl("add.Tensor", &add_kernel);
  m.impl("add_.Tensor", &add_inplace_kernel);
  m.impl("mul.Tensor", &mul_kernel);
  m.impl("mm", &mm_kernel);
  m.impl("addmm", &addmm_kernel);
  m.impl("relu", &relu_kernel);
  m.impl("threshold_backward", &threshold_backward_kernel);
  m.impl("sum.dim_IntList", &sum_dims_kernel);
}

#if TOY_FALLBACK
TOY_LIBRARY(_, TOY_NAME, m) {
  m.fallback([](const dispatch::OpEntry& op, dispatch::Stack& stack) {
    fallback_calls++;
    dispatch::cpu_fallback(op, stack);
  });
}
#endif

extern "C" {
__attribute__((visibility("default"))) int toy_kernel_calls() { return kernel_calls; }
__attribute__((visibility("default"))) int toy_fallback_calls() { return fallback_calls; }
__attribute__((visibility("default"))) int64_t toy_live_blocks() { return memory().live(); }
}
