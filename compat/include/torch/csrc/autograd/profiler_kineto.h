#pragma once
// Recordings, in the namespaces torch::profiler::impl and torch::autograd::profiler.

#include "ATen/record_function.h"
#include "cresset/profile/session.h"

namespace cresset {
namespace profiler::impl {
using profile::ActivityType;
using profile::ProfilerConfig;
using profile::ProfilerState;
}  // namespace profiler::impl
namespace autograd::profiler {
using profile::ActivityType;
using profile::disableProfiler;
using profile::enableProfiler;
using profile::KinetoEvent;
using profile::prepareProfiler;
using profile::ProfilerConfig;
using profile::profilerEnabled;
using profile::ProfilerResult;
using profile::ProfilerState;
using profile::RecordProfile;
}  // namespace autograd::profiler
}  // namespace cresset
