#pragma once
// Recording: start, stop, and scopes with names.

#include <memory>
#include <string_view>

#include "cresset/base/std_function.h"
#include "cresset/profile/event.h"

namespace cresset::profile {

struct Options {
  bool shapes = false;   // sizes, types and values of arguments
  bool memory = false;   // memory of storages
  bool flops = false;    // operations of products, convolutions, sums
  bool stack = false;    // where in the front end a call was made
  bool modules = false;  // in which module
};

// Appends to an event where in the front end its call was made, innermost frame first.
using PlaceOfCall = void (*)(const Options& options, Event& event);
CRESSET_API void set_place_of_call(PlaceOfCall function);

// Records this thread, and the threads that run backward for it, from now on. Errors: a recording is under way.
CRESSET_API void start(const Options& options);
// Ends the recording, which any thread may do; scopes that are still open end here. Errors: none is under way.
CRESSET_API Trace stop();
CRESSET_API bool is_recording();
// Nothing is recorded in between.
CRESSET_API void pause();
CRESSET_API void resume();

// An event that has begun: its place in the thread's log, and the recording.
struct Opened {
  uint64_t recording = 0;
  int32_t event = -1;
};
// For front ends whose scopes are no scopes of C++. Nothing happens where nothing is recorded, or another recording.
CRESSET_API Opened open_event(std::string_view name, Scope scope = Scope::User);
CRESSET_API void close_event(Opened opened);

class Telling;

// A scope with a name: an event where something records or observes, and otherwise one load.
class CRESSET_API RecordFunction {
 public:
  explicit RecordFunction(std::string_view name, Scope scope = Scope::User) {
    if (CRESSET_UNLIKELY(is_active())) begin(name, scope);
  }
  ~RecordFunction() { end(); }
  RecordFunction(const RecordFunction&) = delete;
  RecordFunction& operator=(const RecordFunction&) = delete;
  // The scope ends when the function is called, by any thread, or with the recording; for the thread that began it the scope around is the innermost now.
  std::function<void()> detach();
  // At most once; the destructor ends it otherwise.
  void end() {
    if (CRESSET_UNLIKELY(open_)) finish();
  }

  static bool is_active() { return g_active.load(std::memory_order_relaxed) != 0; }

 private:
  friend struct Activity;
  static std::atomic<int> g_active;
  void begin(std::string_view name, Scope scope);
  void finish();

  bool open_ = false;
  std::shared_ptr<Telling> telling_;
  Opened event_;
};

}  // namespace cresset::profile

// RECORD_FUNCTION("step", inputs): until the end of the block.
#define CRESSET_RECORD_FUNCTION(name, ...) const ::cresset::profile::RecordFunction CRESSET_CONCAT(cresset_recorded_, __COUNTER__)(name)
