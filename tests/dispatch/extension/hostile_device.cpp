// A device whose memory and kernels do what they must not; tests/python/devices/hostile_device_test.py calls them.

#include <cresset/dispatch/registration.h>
#include <cresset/ops/functions.h>
#include <cresset/ops/layout/from_data.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>

using namespace cresset;

namespace {

struct Memory final : Allocator {
  void* allocate(size_t n, Device) override {
    if (n >= 1 << 20) throw std::runtime_error("the drawer is full");
    if (n >= 1 << 16) return nullptr;
    void* data = std::malloc(n);
    alive.insert(data);
    return data;
  }
  void deallocate(void* data, size_t, Device) override {
    twice += data && !alive.erase(data);
    if (data) std::free(data);
  }
  void copy(void* to, const void* from, size_t n, Device) override { std::memcpy(to, from, n); }
  std::set<void*> alive;
  int64_t twice = 0;
};
Memory& memory() {
  static Memory& m = *new Memory;
  return m;
}

const bool registered = [] {
  dispatch::register_backend("hostile", "hostile");
  set_allocator(Device("hostile").type(), &memory());
  return true;
}();

Tensor on_cpu(const Tensor& t) { return t.is_cpu() ? t : from_blob(t.data_ptr(), t.sizes(), t.strides(), TensorOptions(t.scalar_type())); }
Tensor& copy_kernel(Tensor& self, const Tensor& src, bool) {
  Tensor to = on_cpu(self);
  to.copy_(on_cpu(src));
  return self;
}
Tensor sin_kernel(const Tensor&) { throw std::runtime_error("no sine today"); }
Tensor cos_kernel(const Tensor&) { throw 42; }
Tensor exp_kernel(const Tensor& self) { return empty({7}, TensorOptions(self.scalar_type()).device(self.device())); }
Tensor tan_kernel(const Tensor& self) { return empty(self.sizes(), TensorOptions(kLong).device(self.device())); }
std::tuple<Tensor, Tensor> max_kernel(const Tensor& self, int64_t, bool) {
  Tensor values = empty({}, TensorOptions(self.scalar_type()).device(self.device()));
  return {values, empty_like(values)};
}
Tensor sign_kernel(const Tensor& self) { return empty(self.sizes(), TensorOptions(self.scalar_type()).device(self.device())).fill_(7); }
Tensor nonzero_kernel(const Tensor& self) { return empty({2, 5}, TensorOptions(kLong).device(self.device())); }

}  // namespace

CRESSET_LIBRARY(hostile_device, m) {
  m.def("freed_twice() -> int", [] { return memory().twice; });
  m.def("alive() -> int", [] { return static_cast<int64_t>(memory().alive.size()); });
}
CRESSET_LIBRARY_IMPL(cresset, hostile, m) {
  m.impl("copy_", &copy_kernel);
  m.impl("sin", &sin_kernel);
  m.impl("cos", &cos_kernel);
  m.impl("exp", &exp_kernel);
  m.impl("tan", &tan_kernel);
  m.impl("max.dim", &max_kernel);
  m.impl("sign", &sign_kernel);
  m.impl("nonzero", &nonzero_kernel);
}
CRESSET_LIBRARY_IMPL(_, hostile, m) { m.fallback(&dispatch::cpu_fallback); }
