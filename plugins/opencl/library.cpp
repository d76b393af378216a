// All that the library registers when it is opened: the device, its kernels, and the functions of the Python module.

#include "call.h"
#include "random.h"

namespace {

using namespace opencl;

const struct Registration {
  Registration() { register_device(); }
} registration;

const cresset::DeviceGuardImplInterface& guard() { return cresset::device_guard_of(kType); }
cresset::Stream stream(int64_t index, int64_t id) {
  queue(static_cast<DeviceIndex>(index), id);
  return cresset::Stream(cresset::Stream::UNSAFE, cresset::Device(kType, static_cast<DeviceIndex>(index)), id);
}
// Events pass to Python as numbers.
void* event_of(int64_t number) { return reinterpret_cast<void*>(number); }

}  // namespace

CRESSET_LIBRARY_IMPL(cresset, PrivateUse1, m) {
  add_memory(m);
  add_pointwise(m);
  add_reductions(m);
  add_products(m);
  add_rows(m);
  add_indexing(m);
  add_windows(m);
  add_random(m);
  add_sorting(m);
  add_linalg(m);
}
CRESSET_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(&on_cpu); }

CRESSET_LIBRARY(opencl, m) {
  m.def("device_count() -> int", [] { return static_cast<int64_t>(chips().size()); });
  m.def("why_none() -> str", [] { return reason_without_chips(); });
  m.def("device_name(int index) -> str", [](int64_t i) { return chip(static_cast<DeviceIndex>(i)).name; });
  m.def("device_version(int index) -> str", [](int64_t i) { return chip(static_cast<DeviceIndex>(i)).version; });
  m.def("device_numbers(int index) -> int[]", [](int64_t i) {
    const Chip& c = chip(static_cast<DeviceIndex>(i));
    return std::vector<int64_t>{static_cast<int64_t>(c.memory), static_cast<int64_t>(c.largest_group), c.fp64};
  });
  m.def("current_device() -> int", [] { return static_cast<int64_t>(current_index()); });
  m.def("set_device(int index) -> ()", [](int64_t i) {
    chip(static_cast<DeviceIndex>(i));
    set_current_index(static_cast<DeviceIndex>(i));
  });
  m.def("synchronize(int index) -> ()", [](int64_t i) { synchronize(static_cast<DeviceIndex>(i)); });
  m.def("current_stream(int index) -> int", [](int64_t i) { return current_stream(static_cast<DeviceIndex>(i)); });
  m.def("exchange_stream(int index, int stream) -> int", [](int64_t i, int64_t s) {
    queue(static_cast<DeviceIndex>(i), s);
    return exchange_stream(static_cast<DeviceIndex>(i), s);
  });
  m.def("new_stream(int index) -> int", [](int64_t i) { return new_stream(static_cast<DeviceIndex>(i)); });
  m.def("stream_done(int index, int stream) -> bool", [](int64_t i, int64_t s) { return guard().queryStream(stream(i, s)); });
  m.def("synchronize_stream(int index, int stream) -> ()", [](int64_t i, int64_t s) { guard().synchronizeStream(stream(i, s)); });
  m.def("record_event(int index, int stream) -> int", [](int64_t i, int64_t s) {
    void* event = nullptr;
    guard().record(&event, stream(i, s), static_cast<DeviceIndex>(i), cresset::EventFlag::DEFAULT);
    return reinterpret_cast<int64_t>(event);
  });
  m.def("wait_event(int event, int index, int stream) -> ()", [](int64_t e, int64_t i, int64_t s) { guard().block(event_of(e), stream(i, s)); });
  m.def("event_done(int event) -> bool", [](int64_t e) { return guard().queryEvent(event_of(e)); });
  m.def("synchronize_event(int event) -> ()", [](int64_t e) { guard().synchronizeEvent(event_of(e)); });
  m.def("drop_event(int event) -> ()", [](int64_t e) { guard().destroyEvent(event_of(e), 0); });
  m.def("elapsed_time(int begin, int end) -> float", [](int64_t begin, int64_t end) { return guard().elapsedTime(event_of(begin), event_of(end), 0); });
  m.def("memory(int index) -> int[]", [](int64_t i) {
    const MemoryCounts n = memory_counts(static_cast<DeviceIndex>(i));
    return std::vector<int64_t>{n.allocated, n.peak, n.reserved};
  });
  m.def("reset_peak(int index) -> ()", [](int64_t i) { reset_peak(static_cast<DeviceIndex>(i)); });
  m.def("empty_cache() -> ()", [] { empty_cache(); });
  m.def("manual_seed(int seed) -> ()", [](int64_t seed) { manual_seed(static_cast<uint64_t>(seed)); });
  // One a line.
  m.def("fallback_names() -> str", [] {
    std::string names;
    for (const auto& [name, count] : fallback_counts()) names += name + "\n";
    return names;
  });
  m.def("fallback_numbers() -> int[]", [] {
    std::vector<int64_t> numbers;
    for (const auto& [name, count] : fallback_counts()) numbers.push_back(count);
    return numbers;
  });
  m.def("reset_fallbacks() -> ()", [] { reset_fallback_counts(); });
  m.def("compiled_kernels() -> int", [] { return compiled_kernels(); });
}
