#include "cresset/profile/session.h"

#include <algorithm>
#include <ostream>

#include "cresset/profile/chrome_trace.h"

namespace cresset::profile {

KinetoEvent::KinetoEvent(const Trace& trace, const ThreadLog& log, const Event& event)
    : name_(event.full_name()),
      start_ns_(static_cast<uint64_t>(trace.start_unix_ns + event.start_ns)),
      end_ns_(static_cast<uint64_t>(trace.start_unix_ns + event.end_ns)),
      thread_(log.thread),
      flops_(static_cast<uint64_t>(event.flops)),
      sequence_nr_(event.sequence_nr),
      bytes_(event.memory),
      scope_(static_cast<uint8_t>(event.scope)),
      is_step_(event.is_step),
      stack_(event.stack) {
  for (const InputFact& input : event.inputs) {
    shapes_.push_back(input.sizes.empty() || input.is_list ? std::vector<int64_t>() : input.sizes[0]);
    dtypes_.push_back(input.type);
  }
}

ProfilerResult::ProfilerResult(Trace trace) : trace_(std::move(trace)) {
  for (const ThreadLog& log : trace_.threads)
    for (const Event& e : log.events) events_.emplace_back(trace_, log, e);
  std::stable_sort(events_.begin(), events_.end(), [](const KinetoEvent& a, const KinetoEvent& b) { return a.startNs() < b.startNs(); });
}

void ProfilerResult::save(const std::string& path) const { write_chrome_trace(trace_, path); }

void prepareProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities) {
  CRESSET_CHECK(config.state != ProfilerState::Disabled && config.state != ProfilerState::NVTX && config.state != ProfilerState::ITT, "prepareProfiler: state ",
                static_cast<int>(config.state), " records nothing here; expected ProfilerState::CPU or ProfilerState::KINETO");
  CRESSET_CHECK(activities.count(ActivityType::CPU), "prepareProfiler: expected ActivityType::CPU among the activities, nothing else can be recorded");
}

void enableProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities) {
  prepareProfiler(config, activities);
  Options options;
  options.shapes = config.report_input_shapes;
  options.memory = config.profile_memory;
  options.stack = config.with_stack;
  options.flops = config.with_flops;
  options.modules = config.with_modules;
  start(options);
}

std::unique_ptr<ProfilerResult> disableProfiler() { return std::make_unique<ProfilerResult>(stop()); }

RecordProfile::RecordProfile(std::ostream& out) : out_(&out) { start({}); }
RecordProfile::RecordProfile(const std::string& filename) : path_(filename) { start({}); }
RecordProfile::~RecordProfile() {
  try {
    const Trace trace = stop();
    if (out_) *out_ << chrome_trace(trace, "recorded");
    else write_chrome_trace(trace, path_);
  } catch (...) {}
}

}  // namespace cresset::profile
