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
#include "cresset/profile/arguments.h"
#include "cresset/profile/clock.h"
#include "cresset/profile/flops.h"
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

// An event while it is recorded: nothing that has to be moved or freed.
struct Entry {
  const dispatch::OpEntry* op = nullptr;
  int64_t start = 0, end = 0;  // ticks; an end of 0 for what has not ended
  int64_t sequence_nr = -1;
  int64_t memory = 0;
  int64_t arguments = -1;  // where the log keeps them
  int32_t parent = -1;
  int32_t detail = -1;  // of the log's
  Scope scope = Scope::Function;
};
// Of events with a name of their own, or a place in the front end.
struct Detail {
  std::string name, module;
  std::vector<std::string> stack;
};
struct Log {
  uint64_t thread = 0;
  int64_t system_thread = 0;
  std::vector<Entry> entries;
  std::vector<Detail> details;
  std::vector<MemoryEvent> memory;                                                        // with ticks for times
  std::vector<std::pair<int32_t, std::shared_ptr<const std::atomic<int64_t>>>> detached;  // events, and when they ended, 0 before
  Arguments arguments;
};

// Whether events of an operator keep their arguments; looked up once, since the question is asked at each call.
struct Need {
  const dispatch::OpEntry* op = nullptr;
  uint64_t recording = 0;
  bool arguments = false;
};

// A thread's log. It is never freed, so that `stop` may look at any; one whose thread has ended serves another.
struct Slot {
  std::atomic<bool> busy{false};
  uint64_t recording = 0;  // that the log is of
  int32_t open = -1;       // the innermost event that has not ended
  Log log;
  Need needs[256];
};

struct Recorder {
  std::mutex mutex;
  std::vector<Slot*> slots, free;
  Options options;
  std::atomic<uint64_t> recording{0}, last{0};  // the number of the one under way, 0: none; of the latest
  std::atomic<bool> paused{false};
  std::atomic<int64_t> total{0};
  std::atomic<uint64_t> threads{0};
  Moment started;
  int64_t start_unix_ns = 0;
  PlaceOfCall place = nullptr;

  std::vector<std::pair<uint64_t, std::shared_ptr<const Observer>>> observers;  // under the mutex
  std::atomic<int> num_observers{0};
};
Recorder& recorder() {
  static Recorder& r = *new Recorder;
  return r;
}

thread_local Slot* t_slot = nullptr;

// The slot goes back when its thread ends.
struct SlotReturn {
  ~SlotReturn() {
    Slot* const slot = std::exchange(t_slot, nullptr);
    Recorder& r = recorder();
    std::lock_guard lock(r.mutex);
    if (slot && slot->recording == 0) r.free.push_back(slot);
  }
};

CRESSET_NOINLINE Slot& new_slot() {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  if (r.free.empty()) {
    r.slots.push_back(new Slot);
    t_slot = r.slots.back();
  } else {
    t_slot = r.free.back();
    r.free.pop_back();
  }
  thread_local const SlotReturn at_end;
  (void)&at_end;
  return *t_slot;
}
Slot& slot_of_thread() { return CRESSET_LIKELY(t_slot != nullptr) ? *t_slot : new_slot(); }

// The thread's log for a few lines; empty where nothing is recorded. `stop` waits until it is gone.
class Writing {
 public:
  explicit Writing(uint64_t expected = 0) : slot_(slot_of_thread()) {
    Recorder& r = recorder();
    slot_.busy.store(true);
    recording_ = r.recording.load();
    if (recording_ && (expected ? expected != recording_ : r.paused.load(std::memory_order_relaxed))) recording_ = 0;
    if (!recording_ || slot_.recording == recording_) return;
    begin_log();
  }
  ~Writing() { slot_.busy.store(false, std::memory_order_release); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  explicit operator bool() const { return recording_ != 0; }
  Slot& slot() { return slot_; }
  uint64_t recording() const { return recording_; }

 private:
  CRESSET_NOINLINE void begin_log() {
    slot_.recording = recording_;
    slot_.open = -1;
    slot_.log = {};
    slot_.log.thread = recorder().threads.fetch_add(1) + 1;
    slot_.log.system_thread = syscall(SYS_gettid);
    slot_.log.entries.reserve(1024);
  }
  Slot& slot_;
  uint64_t recording_ = 0;
};

bool thread_records() { return (layer_state().included & kLayer) != 0; }

Opened open_in(Writing& writing, Entry entry) {
  Slot& slot = writing.slot();
  entry.parent = slot.open;
  entry.start = ticks();
  slot.open = static_cast<int32_t>(slot.log.entries.size());
  slot.log.entries.push_back(entry);
  return {writing.recording(), slot.open};
}

void close_in(Writing& writing, int32_t at) {
  Slot& slot = writing.slot();
  const int64_t end = ticks();
  // Events that began later and did not end, end with it.
  for (int32_t i = slot.open; i >= at; i = slot.log.entries[static_cast<size_t>(i)].parent) {
    Entry& e = slot.log.entries[static_cast<size_t>(i)];
    if (!e.end) e.end = std::max(end, e.start);
    slot.open = e.parent;
  }
}

std::shared_ptr<std::atomic<int64_t>> detach_in(Writing& writing, int32_t at) {
  Slot& slot = writing.slot();
  auto end = std::make_shared<std::atomic<int64_t>>(0);
  slot.log.detached.emplace_back(at, end);
  if (slot.open == at) slot.open = slot.log.entries[static_cast<size_t>(at)].parent;
  return end;
}

// A name, and the place in the front end where that is asked for; -1: neither.
int32_t detail_in(Writing& writing, std::string name) {
  Recorder& r = recorder();
  const bool places = (r.options.stack || r.options.modules) && r.place;
  if (name.empty() && !places) return -1;
  Event event;
  if (places) r.place(r.options, event);
  auto& details = writing.slot().log.details;
  details.push_back({std::move(name), std::move(event.module), std::move(event.stack)});
  return static_cast<int32_t>(details.size()) - 1;
}

bool needs_arguments(Slot& slot, uint64_t recording, const dispatch::OpEntry& op) {
  Need& need = slot.needs[reinterpret_cast<uintptr_t>(&op) / 64 % std::size(slot.needs)];
  if (CRESSET_UNLIKELY(need.op != &op || need.recording != recording)) {
    const Options& options = recorder().options;
    need = {&op, recording, options.shapes || step_row(op) || (options.flops && counts_flops(op))};
  }
  return need.arguments;
}

// ---- the events of a log that has ended ----

Event event_of(Log& log, const Entry& entry, const Options& options, const Ticking& ticking) {
  Event event;
  event.op = entry.op;
  event.scope = entry.scope;
  event.start_ns = ticking.ns(entry.start);
  event.end_ns = std::max(ticking.ns(entry.end), event.start_ns + 1);
  event.parent = entry.parent;
  event.sequence_nr = entry.sequence_nr;
  event.memory = entry.memory;
  if (entry.detail >= 0) {
    Detail& detail = log.details[static_cast<size_t>(entry.detail)];
    event.name = std::move(detail.name);
    event.module = std::move(detail.module);
    event.stack = std::move(detail.stack);
  }
  if (entry.arguments < 0) return event;
  event.facts = log.arguments.facts(entry.arguments);
  if (options.shapes) event.inputs = log.arguments.inputs(entry.arguments);
  if (options.flops && entry.op && counts_flops(*entry.op)) event.flops = flops_of(entry.op->function_schema().name, event.facts);
  if (entry.op && !step_row(*entry.op)) event.facts.clear();
  return event;
}

ThreadLog finished(Log log, const Options& options, const Ticking& ticking) {
  ThreadLog done;
  done.thread = log.thread;
  done.system_thread = log.system_thread;
  done.events.reserve(log.entries.size());
  for (const auto& [event, end] : log.detached) log.entries[static_cast<size_t>(event)].end = *end;
  for (Entry& entry : log.entries) {
    if (!entry.end) entry.end = std::max(ticking.end(), entry.start);
    done.events.push_back(event_of(log, entry, options, ticking));
  }
  done.memory = std::move(log.memory);
  for (MemoryEvent& event : done.memory) event.time_ns = ticking.ns(event.time_ns);
  add_steps(done, options);
  return done;
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
  Entry entry;
  entry.op = &op;
  entry.sequence_nr = sequence_nr_of_call();
  if (needs_arguments(writing.slot(), writing.recording(), op)) entry.arguments = writing.slot().log.arguments.keep(op, stack, recorder().options.shapes);
  entry.detail = detail_in(writing, {});
  return open_in(writing, entry);
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

struct OpenNode {
  Opened opened;
  std::shared_ptr<Telling> telling;
};
thread_local std::vector<OpenNode> t_nodes;

// Numbers count as tensors in names: x * 2 is a "MulBackward0", as for PyTorch.
std::string name_of(const autograd::Node& node) {
  static const auto* others = new std::unordered_map<std::string, std::string>{
#include "cresset/ops/python_grad_names.inc"
  };
  std::string name = node.name();
  const auto found = others->find(name);
  return found == others->end() ? name : found->second;
}

int32_t node_detail(Writing& writing, std::string name) {
  auto& details = writing.slot().log.details;
  details.push_back({std::move(name), {}, {}});
  return static_cast<int32_t>(details.size()) - 1;
}

void node_begins(const autograd::Node& node, bool whole) {
  OpenNode open;
  if (thread_records()) {
    std::string name = (whole ? "autograd::engine::evaluate_function: " : "") + name_of(node);
    const Scope scope = whole ? Scope::Function : Scope::BackwardFunction;
    const auto sequence_nr = static_cast<int64_t>(node.sequence_nr());
    if (are_observers()) open.telling = std::make_shared<Telling>(Observation{nullptr, name, scope, sequence_nr, nullptr, nullptr}, nullptr);
    Writing writing;
    if (writing) {
      Entry entry;
      entry.detail = node_detail(writing, std::move(name));
      entry.scope = scope;
      entry.sequence_nr = sequence_nr;
      open.opened = open_in(writing, entry);
    }
  }
  t_nodes.push_back(std::move(open));
}
void node_ends() {
  if (t_nodes.empty()) return;  // it began before the recording
  const OpenNode open = std::move(t_nodes.back());
  t_nodes.pop_back();
  close_event(open.opened);
}

void memory_changes(const void* data, int64_t bytes, Device device) {
  Recorder& r = recorder();
  if (!r.options.memory || !thread_records()) return;
  Writing writing;
  if (!writing) return;
  Slot& slot = writing.slot();
  MemoryEvent event;
  event.time_ns = ticks();
  event.bytes = bytes;
  event.total = r.total.fetch_add(bytes) + bytes;
  event.address = reinterpret_cast<uintptr_t>(data);
  event.device = device;
  event.event = slot.open;
  if (slot.open >= 0) slot.log.entries[static_cast<size_t>(slot.open)].memory += bytes;
  slot.log.memory.push_back(event);
}

const ObserverHooks kHooks{memory_changes, node_begins, node_ends};

// A method that is no operator, as a call that takes no time.
void method_runs(const char* name, const Tensor& self) {
  if (!thread_records()) return;
  Writing writing;
  if (!writing) return;
  Entry entry;
  entry.arguments = writing.slot().log.arguments.keep(self);
  entry.detail = detail_in(writing, std::string("aten::") + name);
  const Opened opened = open_in(writing, entry);
  close_in(writing, opened.event);
}

void install_layer() {
  static const bool installed = (dispatch::set_layer_fallback(Layer::Profiler, observe), true);
  (void)installed;
}

// The hooks of nodes and memory, which a recording and observers need.
void set_hooks(bool on) {
  g_observer_hooks.store(on ? &kHooks : nullptr, std::memory_order_release);
  g_observed_method.store(on ? &method_runs : nullptr, std::memory_order_release);
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
  r.started = Moment::now();
  r.start_unix_ns = clock_ns(CLOCK_REALTIME);
  r.recording.store(r.last.fetch_add(1) + 1);
  Activity::add(1);
  set_hooks(true);
  include_thread(true);
}

Trace stop() {
  Recorder& r = recorder();
  std::lock_guard lock(r.mutex);
  const uint64_t recording = r.recording.exchange(0);
  CRESSET_CHECK(recording != 0, "profile: nothing is being recorded");
  const Ticking ticking(r.started, Moment::now());
  Activity::add(-1);
  if (!are_observers()) {
    set_hooks(false);
    include_thread(false);
  }
  Trace trace;
  trace.start_unix_ns = r.start_unix_ns;
  trace.length_ns = ticking.ns(ticking.end());
  trace.shapes = r.options.shapes;
  trace.memory = r.options.memory;
  trace.flops = r.options.flops;
  trace.stack = r.options.stack;
  for (Slot* slot : r.slots) {
    while (slot->busy.load()) std::this_thread::yield();
    if (slot->recording != recording) continue;
    trace.threads.push_back(finished(std::exchange(slot->log, {}), r.options, ticking));
    slot->recording = 0;
  }
  std::sort(trace.threads.begin(), trace.threads.end(), [](const ThreadLog& a, const ThreadLog& b) { return a.thread < b.thread; });
  const ForwardCalls forward(trace);
  for (ThreadLog& log : trace.threads)
    for (Event& event : log.events)
      if (const ThreadLog* of = forward.of(log, event).log) event.forward_thread = of->thread;
  return trace;
}

ForwardCalls::ForwardCalls(const Trace& trace) {
  for (const ThreadLog& log : trace.threads)
    for (const Event& event : log.events) {
      if (!event.op || event.scope != Scope::Function || event.sequence_nr < 0) continue;
      const Event* outer = event.parent < 0 ? nullptr : &log.events[static_cast<size_t>(event.parent)];
      if (!outer || !outer->op || outer->sequence_nr != event.sequence_nr) calls_.push_back({&log, &event});
    }
  std::stable_sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) { return a.event->sequence_nr < b.event->sequence_nr; });
}
ForwardCalls::Call ForwardCalls::of(const ThreadLog& log, const Event& event) const {
  Call best;
  if (event.op) return best;
  auto at = std::lower_bound(calls_.begin(), calls_.end(), event.sequence_nr, [](const Call& call, int64_t n) { return call.event->sequence_nr < n; });
  for (; at != calls_.end() && at->event->sequence_nr == event.sequence_nr; ++at) {
    const Call& call = *at;
    if (call.event->start_ns > event.start_ns) continue;
    const bool nearer = best.log && (call.log == &log) != (best.log == &log) ? call.log == &log : !best.log || call.event->start_ns >= best.event->start_ns;
    if (nearer) best = call;
  }
  return best;
}

void pause() { recorder().paused = true; }
void resume() { recorder().paused = false; }

Opened open_event(std::string_view name, Scope scope) {
  if (!thread_records()) return {};
  Writing writing;
  if (!writing) return {};
  Entry entry;
  entry.detail = detail_in(writing, std::string(name));
  entry.scope = scope;
  return open_in(writing, entry);
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
std::function<void()> RecordFunction::detach() {
  if (!open_) return [] {};
  open_ = false;
  std::shared_ptr<std::atomic<int64_t>> end;
  if (event_.event >= 0) {
    Writing writing(event_.recording);
    if (writing && writing.slot().recording == event_.recording) end = detach_in(writing, event_.event);
  }
  return [end, telling = std::exchange(telling_, nullptr)]() mutable {
    if (end) *end = ticks();
    telling.reset();
  };
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
  set_hooks(true);
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
    if (!is_recording() && !are_observers()) set_hooks(false);
    Activity::add(-1);
    return;
  }
}
void observe_thread(bool on) {
  install_layer();
  include_thread(on || is_recording());
}

}  // namespace cresset::profile
