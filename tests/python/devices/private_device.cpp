// A device as LibTorch's programs write it: allocator, guard, hooks, two kernels, the CPU for everything else.
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/add.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/Event.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/extension.h>

#include <atomic>
#include <cstring>

namespace {

std::atomic<int64_t> live{0}, native_adds{0}, fallbacks{0}, recorded{0};
thread_local c10::DeviceIndex current = 0;
constexpr c10::DeviceIndex kDevices = 2;

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    void* data = c10::alloc_cpu(nbytes);
    live++;
    return {data, data, &give_back, c10::Device(c10::DeviceType::PrivateUse1, current)};
  }
  static void give_back(void* data) {
    if (!data) return;
    live--;
    c10::free_cpu(data);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t count) const final { default_copy_data(to, from, count); }
};
Memory memory;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &memory);

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = c10::DeviceType::PrivateUse1;
  c10::DeviceType type() const override { return static_type; }
  c10::Device exchangeDevice(c10::Device d) const override {
    const c10::Device before = getDevice();
    setDevice(d);
    return before;
  }
  c10::Device getDevice() const override { return c10::Device(static_type, current); }
  void setDevice(c10::Device d) const override {
    TORCH_CHECK(d.index() >= 0 && d.index() < kDevices, "private device: there is no device ", d.index());
    current = static_cast<c10::DeviceIndex>(d.index());
  }
  void uncheckedSetDevice(c10::Device d) const noexcept override { current = static_cast<c10::DeviceIndex>(d.index()); }
  c10::Stream getStream(c10::Device d) const noexcept override { return c10::Stream(c10::Stream::DEFAULT, d); }
  c10::Stream getNewStream(c10::Device d, int priority) const override { return c10::Stream(c10::Stream::UNSAFE, d, 1 + priority); }
  c10::Stream exchangeStream(c10::Stream s) const noexcept override { return s; }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new int64_t(0);
    *static_cast<int64_t*>(*event) = ++recorded;
  }
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<int64_t*>(event); }
  double elapsedTime(void* a, void* b, const c10::DeviceIndex) const override {
    return static_cast<double>(*static_cast<int64_t*>(b) - *static_cast<int64_t*>(a));
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isPinnedPtr(const void*) const override { return false; }
};

at::Tensor empty_on_device(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>, std::optional<at::Device> device,
                           std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device && device->has_index() ? device : std::nullopt);
  return at::detail::empty_generic(size, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), dtype.value_or(at::kFloat), format);
}
at::Tensor empty_strided_on_device(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                                   std::optional<at::Device> device, std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device && device->has_index() ? device : std::nullopt);
  return at::detail::empty_strided_generic(size, stride, &memory, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), dtype.value_or(at::kFloat));
}

// The device's memory is the CPU's, so that its processor is the CPU's too.
at::Tensor seen_by_cpu(const at::Tensor& t) {
  return at::from_blob(t.storage().mutable_data(), {static_cast<int64_t>(t.storage().nbytes() / t.element_size())}, at::TensorOptions(t.scalar_type()))
      .as_strided(t.sizes(), t.strides(), t.storage_offset());
}
at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool) {
  TORCH_CHECK(self.sizes() == dst.sizes(), "private device: copies between tensors of one shape");
  at::Tensor to = dst.is_cpu() ? dst : seen_by_cpu(dst);
  to.copy_(self.is_cpu() ? self : seen_by_cpu(self));
  return dst;
}
at::Tensor add(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  native_adds++;
  const at::Tensor b = other.is_cpu() ? other : seen_by_cpu(other), a = self.is_cpu() ? self : seen_by_cpu(self);
  const at::Tensor computed = at::add(a, b, alpha);
  const at::Tensor out = at::empty(computed.sizes(), computed.options().device(self.is_cpu() ? other.device() : self.device()));
  seen_by_cpu(out).copy_(computed);
  return out;
}

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  fallbacks++;
  at::native::cpu_fallback(op, stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty_on_device);
  m.impl("empty_strided", &empty_strided_on_device);
  m.impl("_copy_from", &copy_from);
  m.impl("add.Tensor", &add);
  m.impl("view", [](const at::Tensor& self, at::IntArrayRef size) { return at::native::view(self, size); });
  m.impl("as_strided", [](const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride, std::optional<int64_t> offset) {
    return at::native::as_strided_tensorimpl(self, size, stride, offset);
  });
  m.impl("sub.Tensor", torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>()); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("register_hooks", [] { at::RegisterPrivateUse1HooksInterface(new Hooks); });
  m.def("device_count", [] { return at::detail::getPrivateUse1Hooks().deviceCount(); });
  m.def("current_device", [] { return at::detail::getPrivateUse1Hooks().getCurrentDevice(); });
  m.def("set_device", [](int64_t i) { at::detail::getPrivateUse1Hooks().setCurrentDevice(static_cast<c10::DeviceIndex>(i)); });
  m.def("counts", [] { return std::vector<int64_t>{live, native_adds, fallbacks}; });
  m.def("events", [] {
    const c10::Device device(c10::DeviceType::PrivateUse1, 1);
    const c10::impl::VirtualGuardImpl impl(c10::DeviceType::PrivateUse1);
    c10::Event begin(c10::DeviceType::PrivateUse1), end(c10::DeviceType::PrivateUse1);
    begin.record(impl.getStream(device));
    end.record(impl.getStream(device));
    return std::make_pair(begin.elapsedTime(end), end.query());
  });
  m.def("waits", [] {
    c10::Stream s(c10::Stream::DEFAULT, c10::Device(c10::DeviceType::PrivateUse1, 0));
    c10::impl::getDeviceGuardImpl(c10::DeviceType::PrivateUse1)->block(nullptr, s);
  });
  m.def("storage_is_replaced", [](const at::Tensor& t) {
    at::Storage storage = t.unsafeGetTensorImpl()->unsafe_storage();
    c10::DataPtr fresh = memory.allocate(64);
    std::memset(fresh.get(), 0, 64);
    const c10::DataPtr before = storage.set_data_ptr(std::move(fresh));
    storage.set_nbytes(64);
    return std::make_tuple(storage.nbytes(), static_cast<const float*>(before.get())[1], live.load());
  });
  m.def("storage_grows", [] {
    at::Storage storage(at::Storage::use_byte_size_t(), 8, &memory, true);
    std::memset(storage.mutable_data(), 7, 8);
    storage.set_nbytes(64);
    return std::make_tuple(storage.nbytes(), static_cast<int64_t>(static_cast<const char*>(storage.data())[7]), storage.device());
  });
}
