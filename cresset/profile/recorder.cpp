#include "cresset/profile/recorder.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "cresset/autograd/node.h"
#include "cresset/core/hooks.h"
#include "cresset/core/observed.h"
#include "cresset/core/scope_hooks.h"
#include "cresset/dispatch/backend.h"
#include "cresset/profile/flops.h"
#include "cresset/profile/inputs.h"
#include "cresset/profile/observers.h"
#include "cresset/profile/steps.h"

namespace cresset::profile {

std::atomic<int> RecordFunction::g_active{0};

namespace {

// Functions of programs that a room above runs.
const ScopeHooks kScopeHooks{[](std::string_view name) -> void* { return new RecordFunction(name, Scope::ScriptFunction); },
                             [](void* scope) { delete static_cast<RecordFunction*>(scope); }};

}  // namespace

// Who is listening: a recording, and observers.
struct Activity {
  static void add(int n) {
    const int now = RecordFunction::g_active.fetch_add(n, std::memory_order_acq_rel) + n;
    g_scope_hooks.store(now > 0 ? &kScopeHooks : nullptr, std::memory_order_release);
  }
};

namespace {

constexpr uint8_t kLayer = layer_bit(Layer::Profiler);

int64_t now_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// A thread's log. It is never freed, so that `stop` may look at any; one whose thread has ended serves another.
struct Slot {
  std::atomic<bool> busy{false};
  uint64_t recording = 0;  // that the log is of
  int32_t open = -1;       // the innermost event that has not ended
  ThreadLog log;
};

struct Recorder {
  std::mutex mutex;
  std::vector<Slot*> slots, free;
  Options options;
  std::atomic<uint64_t> recording{0}, last{0};  // the number of the one under way, 0: none; of the latest
  std::atomic<bool> paused{false};
  std::atomic<int64_t> total{0};
  std::atomic<uint64_t> threads{0};
  int64_t start_ns = 0, start_unix_ns = 0;
  PlaceOfCall place = nullptr;

  std::vector<std::pair<uint64_t, std::shared_ptr<const Observer>>> observers;  // under the mutex
  std::atomic<int> num_observers{0};
};
Recorder& recorder() {
  static Recorder& r = *new Recorder;
  return r;
}

// The slot goes back when its thread ends.
struct SlotOfThread {
  Slot* slot = nullptr;
  ~SlotOfThread() {
    if (!slot) return;
    Recorder& r = recorder();
    std::lock_guard lock(r.mutex);
    if (slot->recording == 0) r.free.push_back(slot);
  }
};
thread_local SlotOfThread t_slot;

Slot& slot_of_thread() {
  if (CRESSET_LIKELY(t_slot.slot != nullptr)) return *t_slot.slot;
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  if (r.free.empty()) {
    r.slots.push_back(new Slot);
    t_slot.slot = r.slots.back();
  } else {
    t_slot.slot = r.free.back();
    r.free.pop_back();
  }
  return *t_slot.slot;
}

// The thread's log for a few lines; empty where nothing is recorded. `stop` waits until it is gone.
class Writing {
 public:
  explicit Writing(uint64_t expected = 0) : slot_(slot_of_thread()) {
    Recorder& r = recorder();
    slot_.busy.store(true);
    recording_ = r.recording.load();
    if (recording_ && (expected ? expected != recording_ : r.paused.load(std::memory_order_relaxed))) recording_ = 0;
    if (!recording_ || slot_.recording == recording_) return;
    slot_.recording = recording_;
    slot_.open = -1;
    slot_.log = {};
    slot_.log.thread = r.threads.fetch_add(1) + 1;
    slot_.log.system_thread = syscall(SYS_gettid);
    slot_.log.events.reserve(1024);
  }
  ~Writing() { slot_.busy.store(false, std::memory_order_release); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  explicit operator bool() const { return recording_ != 0; }
  Slot& slot() { return slot_; }
  uint64_t recording() const { return recording_; }

 private:
  Slot& slot_;
  uint64_t recording_ = 0;
};

bool thread_records() { return (layer_state().included & kLayer) != 0; }

int64_t since_start() { return now_of(CLOCK_MONOTONIC) - recorder().start_ns; }

Opened open_in(Writing& writing, Event event) {
  Slot& slot = writing.slot();
  event.parent = slot.open;
  event.start_ns = since_start();
  slot.open = static_cast<int32_t>(slot.log.events.size());
  slot.log.events.push_back(std::move(event));
  return {writing.recording(), slot.open};
}

void close_in(Writing& writing, int32_t at) {
  Slot& slot = writing.slot();
  const int64_t end = since_start();
  // Events that began later and did not end, end with it.
  for (int32_t i = slot.open; i >= at; i = slot.log.events[static_cast<size_t>(i)].parent) {
    Event& e = slot.log.events[static_cast<size_t>(i)];
    if (!e.end_ns) e.end_ns = std::max<int64_t>(end, e.start_ns + 1);
    slot.open = e.parent;
  }
}

// ---- observers ----

std::vector<std::shared_ptr<const Observer>> observers_of(Scope scope) {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  std::vector<std::shared_ptr<const Observer>> found;
  for (const auto& [number, observer] : r.observers)
    if (observer->scopes.empty() || std::find(observer->scopes.begin(), observer->scopes.end(), scope) != observer->scopes.end()) found.push_back(observer);
  return found;
}

bool are_observers() { return recorder().num_observers.load(std::memory_order_acquire) != 0; }

}  // namespace

// Tells the observers of a beginning and of the end.
class Telling {
 public:
  Telling(Observation what, const dispatch::Stack* stack) : what_(std::move(what)), observers_(observers_of(what_.scope)) {
    const ExcludeLayers quiet(kLayer);
    for (const auto& o : observers_) {
      what_.inputs = o->wants_inputs ? stack : nullptr;
      if (o->begins) o->begins(what_);
    }
    what_.inputs = nullptr;
  }
  // Where the call has failed, or in a destructor, what a function throws is dropped.
  ~Telling() {
    try {
      finish();
    } catch (...) {}
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  void finish(const dispatch::Stack* results = nullptr) {
    const ExcludeLayers quiet(kLayer);
    what_.results = results;
    const auto told = std::exchange(observers_, {});
    for (auto o = told.rbegin(); o != told.rend(); ++o)
      if ((*o)->ends) (*o)->ends(what_);
  }

 private:
  Observation what_;
  std::vector<std::shared_ptr<const Observer>> observers_;
};

namespace {

int64_t sequence_nr_of_call() {
  const LayerState& state = layer_state();
  return state.grad_mode && !state.inference_mode ? static_cast<int64_t>(autograd::next_sequence_nr()) : -1;
}

// ---- calls of operators: the layer above all others ----

Opened open_call(const dispatch::OpEntry& op, const dispatch::Stack& stack) {
  Writing writing;
  if (!writing) return {};
  const Options& options = recorder().options;
  Event event;
  event.op = &op;
  event.sequence_nr = sequence_nr_of_call();
  if (options.shapes) event.inputs = inputs_of(op, stack);
  if (step_row(op)) event.facts = facts_of(op, stack);
  if (options.flops && op.function_schema().ns == "cresset") event.flops = flops_of(op.function_schema().name, facts_of(op, stack));
  if ((options.stack || options.modules) && recorder().place) recorder().place(options, event);
  return open_in(writing, std::move(event));
}

struct OpenCall {
  Opened opened;
  ~OpenCall() { close_event(opened); }
};

void observe(const dispatch::OpEntry& op, dispatch::Stack& stack) {
  if (CRESSET_UNLIKELY(are_observers())) {
    Observation what{&op, {}, Scope::Function, sequence_nr_of_call(), nullptr, nullptr};
    Telling telling(std::move(what), &stack);
    {
      const OpenCall call{open_call(op, stack)};
      dispatch::call_boxed_below(Layer::Profiler, op, stack);
    }
    // Entries below on the stack are the caller's.
    const size_t n = std::min(stack.size(), op.function_schema().returns.size());
    const dispatch::Stack results(stack.end() - static_cast<std::ptrdiff_t>(n), stack.end());
    return telling.finish(&results);
  }
  const OpenCall call{open_call(op, stack)};
  dispatch::call_boxed_below(Layer::Profiler, op, stack);
}

// ---- nodes and memory ----

thread_local std::vector<Opened> t_nodes;

// Numbers count as tensors in names: x * 2 is a "MulBackward0", as for PyTorch.
std::string name_of(const autograd::Node& node) {
  static const auto* others = new std::unordered_map<std::string, std::string>{
#include "cresset/ops/python_grad_names.inc"
  };
  std::string name = node.name();
  const auto found = others->find(name);
  return found == others->end() ? name : found->second;
}

void node_begins(const autograd::Node& node, bool whole) {
  Opened opened;
  if (thread_records()) {
    Writing writing;
    if (writing) {
      Event event;
      event.name = (whole ? "autograd::engine::evaluate_function: " : "") + name_of(node);
      event.scope = whole ? Scope::Function : Scope::BackwardFunction;
      event.sequence_nr = static_cast<int64_t>(node.sequence_nr());
      opened = open_in(writing, std::move(event));
    }
  }
  t_nodes.push_back(opened);
}
void node_ends() {
  if (t_nodes.empty()) return;  // it began before the recording
  const Opened opened = t_nodes.back();
  t_nodes.pop_back();
  close_event(opened);
}

void memory_changes(const void* data, int64_t bytes, Device device) {
  Recorder& r = recorder();
  if (!r.options.memory || !thread_records()) return;
  Writing writing;
  if (!writing) return;
  Slot& slot = writing.slot();
  MemoryEvent event;
  event.time_ns = since_start();
  event.bytes = bytes;
  event.total = r.total.fetch_add(bytes) + bytes;
  event.address = reinterpret_cast<uintptr_t>(data);
  event.device = device;
  event.event = slot.open;
  if (slot.open >= 0) slot.log.events[static_cast<size_t>(slot.open)].memory += bytes;
  slot.log.memory.push_back(event);
}

const ObserverHooks kHooks{memory_changes, node_begins, node_ends};

// A method that is no operator, as a call that takes no time.
void method_runs(const char* name, const Tensor& self) {
  if (!thread_records()) return;
  Writing writing;
  if (!writing) return;
  Event event;
  event.name = std::string("aten::") + name;
  event.facts = {fact_of_tensor(self)};
  if (recorder().options.shapes) event.inputs = {input_of(event.facts[0])};
  if ((recorder().options.stack || recorder().options.modules) && recorder().place) recorder().place(recorder().options, event);
  const Opened opened = open_in(writing, std::move(event));
  close_in(writing, opened.event);
}

void install_layer() {
  static const bool installed = (dispatch::set_layer_fallback(Layer::Profiler, observe), true);
  (void)installed;
}

void include_thread(bool on) {
  LayerState& state = layer_state();
  state.included = static_cast<uint8_t>(on ? state.included | kLayer : state.included & ~kLayer);
}

}  // namespace

std::string Event::full_name() const {
  if (!op || !name.empty()) return name;
  const dispatch::FunctionSchema& schema = op->function_schema();
  return (schema.ns == "cresset" ? "aten" : schema.ns) + "::" + schema.name;
}
std::string Event::overload() const { return op ? op->function_schema().overload : std::string(); }

void set_place_of_call(PlaceOfCall function) { recorder().place = function; }

bool is_recording() { return recorder().recording.load() != 0; }

void start(const Options& options) {
  install_layer();
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  CRESSET_CHECK(r.recording.load() == 0, "profile: a recording is under way in this process; stop it before another starts");
  r.options = options;
  r.total = 0;
  r.threads = 0;
  r.paused = false;
  r.start_ns = now_of(CLOCK_MONOTONIC);
  r.start_unix_ns = now_of(CLOCK_REALTIME);
  r.recording.store(r.last.fetch_add(1) + 1);
  Activity::add(1);
  g_observer_hooks.store(&kHooks, std::memory_order_release);
  g_observed_method.store(&method_runs, std::memory_order_release);
  include_thread(true);
}

Trace stop() {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  const uint64_t recording = r.recording.exchange(0);
  CRESSET_CHECK(recording != 0, "profile: nothing is being recorded");
  const int64_t end = now_of(CLOCK_MONOTONIC) - r.start_ns;
  Activity::add(-1);
  if (!are_observers()) {
    g_observer_hooks.store(nullptr, std::memory_order_release);
    g_observed_method.store(nullptr, std::memory_order_release);
    include_thread(false);
  }
  Trace trace;
  trace.start_unix_ns = r.start_unix_ns;
  trace.length_ns = end;
  trace.shapes = r.options.shapes;
  trace.memory = r.options.memory;
  trace.flops = r.options.flops;
  trace.stack = r.options.stack;
  for (Slot* slot : r.slots) {
    while (slot->busy.load()) std::this_thread::yield();
    if (slot->recording != recording) continue;
    for (Event& e : slot->log.events)
      if (!e.end_ns) e.end_ns = std::max(end, e.start_ns + 1);
    add_steps(slot->log, r.options);
    trace.threads.push_back(std::move(slot->log));
    slot->log = {};
    slot->recording = 0;
  }
  std::sort(trace.threads.begin(), trace.threads.end(), [](const ThreadLog& a, const ThreadLog& b) { return a.thread < b.thread; });
  return trace;
}

void pause() { recorder().paused = true; }
void resume() { recorder().paused = false; }

Opened open_event(std::string_view name, Scope scope) {
  if (!thread_records()) return {};
  Writing writing;
  if (!writing) return {};
  Event event;
  event.name = std::string(name);
  event.scope = scope;
  if ((recorder().options.stack || recorder().options.modules) && recorder().place) recorder().place(recorder().options, event);
  return open_in(writing, std::move(event));
}

void close_event(Opened opened) {
  if (opened.event < 0) return;
  Writing writing(opened.recording);
  if (writing && writing.slot().recording == opened.recording) close_in(writing, opened.event);
}

void RecordFunction::begin(std::string_view name, Scope scope) {
  open_ = true;
  if (are_observers() && thread_records()) telling_ = std::make_shared<Telling>(Observation{nullptr, std::string(name), scope, -1, nullptr, nullptr}, nullptr);
  event_ = open_event(name, scope);
}
void RecordFunction::finish() {
  open_ = false;
  close_event(event_);
  telling_.reset();
}

uint64_t add_observer(Observer observer) {
  install_layer();
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  static uint64_t next = 0;
  r.observers.emplace_back(++next, std::make_shared<const Observer>(std::move(observer)));
  r.num_observers++;
  Activity::add(1);
  return next;
}
void remove_observer(uint64_t number) {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  for (auto o = r.observers.begin(); o != r.observers.end(); ++o) {
    if (o->first != number) continue;
    r.observers.erase(o);
    r.num_observers--;
    Activity::add(-1);
    return;
  }
}
void observe_thread(bool on) {
  install_layer();
  include_thread(on || is_recording());
}

}  // namespace cresset::profile
