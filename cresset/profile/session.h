#pragma once
// Recordings under LibTorch's names (torch::profiler, torch::autograd::profiler).

#include <iosfwd>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "cresset/profile/recorder.h"

namespace cresset::profile {

// LibTorch's numbers. The CPU is the one that is recorded.
enum class ActivityType { CPU = 0, XPU, CUDA, HPU, MTIA, PrivateUse1 };
enum class ProfilerState { Disabled = 0, CPU, CUDA, NVTX, ITT, PRIVATEUSE1, KINETO, KINETO_GPU_FALLBACK, KINETO_PRIVATEUSE1_FALLBACK, KINETO_ONDEMAND };

struct ProfilerConfig {
  explicit ProfilerConfig(ProfilerState state, bool report_input_shapes = false, bool profile_memory = false, bool with_stack = false, bool with_flops = false,
                          bool with_modules = false)
      : state(state),
        report_input_shapes(report_input_shapes),
        profile_memory(profile_memory),
        with_stack(with_stack),
        with_flops(with_flops),
        with_modules(with_modules) {}
  ProfilerState state;
  bool report_input_shapes, profile_memory, with_stack, with_flops, with_modules;
};

// An event of a finished recording.
class CRESSET_API KinetoEvent {
 public:
  KinetoEvent(const Trace& trace, const ThreadLog& log, const Event& event);
  const std::string& name() const { return name_; }
  uint64_t startNs() const { return start_ns_; }
  uint64_t endNs() const { return end_ns_; }
  uint64_t durationNs() const { return end_ns_ - start_ns_; }
  uint64_t startThreadId() const { return thread_; }
  int64_t sequenceNr() const { return sequence_nr_; }
  uint64_t flops() const { return flops_; }
  int64_t nBytes() const { return bytes_; }
  uint8_t scope() const { return scope_; }
  // Whether it is a step of the call around it (docs/records/0025-profiler.md).
  bool isStep() const { return is_step_; }
  bool hasShapes() const { return !shapes_.empty(); }
  const std::vector<std::vector<int64_t>>& shapes() const { return shapes_; }
  const std::vector<std::string>& dtypes() const { return dtypes_; }
  bool hasStack() const { return !stack_.empty(); }
  const std::vector<std::string>& stack() const { return stack_; }

 private:
  std::string name_;
  uint64_t start_ns_, end_ns_, thread_, flops_;
  int64_t sequence_nr_, bytes_;
  uint8_t scope_;
  bool is_step_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<std::string> dtypes_, stack_;
};

class CRESSET_API ProfilerResult {
 public:
  explicit ProfilerResult(Trace trace);
  const std::vector<KinetoEvent>& events() const { return events_; }
  uint64_t trace_start_ns() const { return static_cast<uint64_t>(trace_.start_unix_ns); }
  // Writes Chrome's trace format. Errors: a file that cannot be written.
  void save(const std::string& path) const;

 private:
  Trace trace_;
  std::vector<KinetoEvent> events_;
};

// Errors: a state without recording; activities without the CPU.
CRESSET_API void prepareProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities);
// Errors: the same; a recording is under way.
CRESSET_API void enableProfiler(const ProfilerConfig& config, const std::set<ActivityType>& activities = {ActivityType::CPU});
// Errors: nothing is being recorded.
CRESSET_API std::unique_ptr<ProfilerResult> disableProfiler();
inline bool profilerEnabled() { return is_recording(); }

// Records its scope and then writes a trace in Chrome's format. Errors of writing are dropped.
class CRESSET_API RecordProfile {
 public:
  explicit RecordProfile(std::ostream& out);
  explicit RecordProfile(const std::string& filename);
  ~RecordProfile();
  RecordProfile(const RecordProfile&) = delete;
  RecordProfile& operator=(const RecordProfile&) = delete;

 private:
  std::ostream* out_ = nullptr;
  std::string path_;
};

}  // namespace cresset::profile
