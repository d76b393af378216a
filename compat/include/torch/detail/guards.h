#pragma once
#include "cresset/core/device_guard.h"
#include "torch/detail/macros.h"
#include "torch/detail/tensor.h"

namespace c10 {
using cresset::DeviceGuard;
using cresset::Event;
using cresset::EventFlag;
using cresset::MultiStreamGuard;
using cresset::OptionalDeviceGuard;
using cresset::OptionalStreamGuard;
using cresset::Stream;
using cresset::StreamGuard;
using cresset::StreamId;
namespace impl {
using cresset::DeviceGuardImplInterface;
using cresset::FakeGuardImpl;
using cresset::InlineDeviceGuard;
using cresset::InlineMultiStreamGuard;
using cresset::InlineOptionalDeviceGuard;
using cresset::InlineOptionalStreamGuard;
using cresset::InlineStreamGuard;
using cresset::VirtualGuardImpl;
template <DeviceType T> struct NoOpDeviceGuardImpl : cresset::SingleDeviceGuardImpl {
  NoOpDeviceGuardImpl() : cresset::SingleDeviceGuardImpl(T) {}
};
using DeviceGuardImplRegistrar = cresset::DeviceGuardRegistrar;
inline const DeviceGuardImplInterface* getDeviceGuardImpl(DeviceType type) { return &cresset::device_guard_of(type); }
inline bool hasDeviceGuardImpl(DeviceType type) { return cresset::has_device_guard(type); }
}  // namespace impl
}  // namespace c10
#define C10_REGISTER_GUARD_IMPL(DevType, Impl) \
  static ::c10::impl::DeviceGuardImplRegistrar C10_ANONYMOUS_VARIABLE(g_guard_of_type)(::c10::DeviceType::DevType, new Impl())

namespace at {
using c10::DeviceGuard;
using c10::OptionalDeviceGuard;
using c10::Stream;
inline std::optional<Device> device_of(const Tensor& t) { return t.defined() ? std::optional<Device>(t.device()) : std::nullopt; }
inline std::optional<Device> device_of(const std::optional<Tensor>& t) { return t ? device_of(*t) : std::nullopt; }
inline std::optional<Device> device_of(TensorList list) { return list.empty() ? std::nullopt : device_of(list.front()); }
}  // namespace at
namespace torch {
using c10::DeviceGuard;
using c10::OptionalDeviceGuard;
using c10::Stream;
}  // namespace torch
