#include "cresset/core/memory/plan.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/core/memory/allocator.h"
#include "cresset/core/memory/plan_run.h"

namespace cresset {

thread_local __attribute__((tls_model("initial-exec"))) MemoryPlan::State* t_memory_plan = nullptr;
std::atomic<size_t> g_memory_arenas{0};

namespace {

constexpr size_t kAlign = 64, kNoPlace = SIZE_MAX;
// Runs that ask for more blocks are not planned further: placing them takes time that grows with the square.
constexpr size_t kMaxBlocks = 8192;
constexpr uint32_t kAlive = UINT32_MAX;
// A computation that asks for other blocks each time is left to the allocator.
constexpr int kMaxDepartures = 16;

struct Arena;
// Before each block, so that whoever gives it back finds its place.
struct alignas(kAlign) Header {
  Arena* arena;
  size_t slot;
};

// Lives as long as its plan or one of its blocks.
struct Arena {
  std::atomic<size_t> users{1};
  char* begin = nullptr;
  size_t bytes = 0;
  std::unique_ptr<std::atomic<bool>[]> lives;  // by slot
};

// Arenas by where they begin.
struct Arenas {
  std::shared_mutex mutex;
  std::map<const char*, Arena*> by_begin;
};
Arenas& arenas() {
  static Arenas* a = new Arenas;
  return *a;
}

// The plan's own memory comes from the allocator, and is not planned itself.
struct Unplanned {
  MemoryPlan::State* before = std::exchange(t_memory_plan, nullptr);
  ~Unplanned() { t_memory_plan = before; }
};

Arena* make_arena(size_t bytes, size_t slots) {
  const Unplanned unplanned;
  auto* a = new Arena;
  a->begin = static_cast<char*>(cpu_allocate(bytes));
  a->bytes = bytes;
  a->lives = std::make_unique<std::atomic<bool>[]>(slots);
  Arenas& all = arenas();
  const std::unique_lock lock(all.mutex);
  all.by_begin.emplace(a->begin, a);
  g_memory_arenas.fetch_add(1);
  return a;
}
void drop(Arena* a) {
  if (a->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const Unplanned unplanned;
  {
    Arenas& all = arenas();
    const std::unique_lock lock(all.mutex);
    all.by_begin.erase(a->begin);
    g_memory_arenas.fetch_sub(1);
  }
  cpu_deallocate(a->begin, a->bytes);
  delete a;
}

struct Slot {
  size_t nbytes = 0;
  uint32_t birth = 0, death = kAlive;
  size_t offset = kNoPlace;
  std::vector<uint32_t> before;  // slots that had parts of the place last
};
size_t room_of(const Slot& s) { return sizeof(Header) + (s.nbytes + kAlign - 1) / kAlign * kAlign; }

// Largest first, each at the lowest place that is free while it lives. Returns the bytes of all.
size_t place(std::vector<Slot>& slots) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < slots.size(); i++)
    if (slots[i].death != kAlive) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return slots[a].nbytes > slots[b].nbytes; });
  std::vector<uint32_t> placed;  // by offset
  size_t end = 0;
  for (const uint32_t i : order) {
    Slot& s = slots[i];
    size_t at = 0;
    for (const uint32_t k : placed) {
      const Slot& o = slots[k];
      if (o.death < s.birth || s.death < o.birth) continue;
      if (o.offset >= at + room_of(s)) break;
      at = std::max(at, o.offset + room_of(o));
    }
    s.offset = at;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at, [&](size_t offset, uint32_t k) { return offset < slots[k].offset; }), i);
    end = std::max(end, at + room_of(s));
  }
  return end;
}

// Who had each part of a place before: a block may take it up when these are gone.
void find_owners_before(std::vector<Slot>& slots) {
  struct Part {
    size_t end;
    uint32_t slot;
  };
  std::map<size_t, Part> parts;  // by where they begin, in the order of births
  for (uint32_t i = 0; i < slots.size(); i++) {
    Slot& s = slots[i];
    if (s.offset == kNoPlace) continue;
    const size_t begin = s.offset, end = s.offset + room_of(s);
    auto at = parts.lower_bound(begin);
    if (at != parts.begin() && std::prev(at)->second.end > begin) --at;
    while (at != parts.end() && at->first < end) {
      const auto [from, part] = *at;
      if (s.before.empty() || s.before.back() != part.slot) s.before.push_back(part.slot);
      at = parts.erase(at);
      if (from < begin) parts.emplace(from, Part{begin, part.slot});
      if (part.end > end) at = parts.emplace(end, Part{part.end, part.slot}).first;
    }
    parts[begin] = {end, i};
  }
}

}  // namespace

struct MemoryPlan::State {
  std::vector<Slot> slots;
  Arena* arena = nullptr;
  size_t next = 0;  // of the run's blocks
  bool is_made = false, watches = false, follows = false, followed = false;
  int departures = 0;
  Facts facts;
  // While a run is watched.
  uint32_t time = 0;
  std::unordered_map<void*, uint32_t> living;

  ~State() { forget(); }
  void forget() {
    if (arena) drop(std::exchange(arena, nullptr));
    slots.clear();
    facts = {};
    is_made = false;
  }
  // Blocks of earlier runs are gone.
  bool is_free() const { return arena->users.load(std::memory_order_acquire) == 1; }

  void begin() {
    next = 0;
    watches = follows = followed = false;
    if (departures >= kMaxDepartures) return;
    if (is_made && (!arena || is_free())) {
      follows = true;
      return;
    }
    forget();
    watches = true;
    time = 0;
    living.clear();
  }
  void depart() {
    follows = false;
    departures++;
    forget();
  }
  void end(bool failed) {
    if (follows && !failed && next != slots.size()) depart();
    followed = follows && !failed;
    if (watches) failed ? forget() : make_plan();
    watches = follows = false;
  }
  void make_plan() {
    living.clear();
    is_made = true;
    const size_t bytes = place(slots);
    find_owners_before(slots);
    for (const Slot& s : slots)
      if (s.offset != kNoPlace) facts.blocks++, facts.block_bytes += s.nbytes;
    facts.arena_bytes = bytes;
    if (bytes) arena = make_arena(bytes, slots.size());
  }
};

void* planned_block(MemoryPlan::State& plan, size_t nbytes) {
  if (!plan.follows) return nullptr;
  if (plan.next == plan.slots.size() && plan.next == kMaxBlocks) return nullptr;
  if (plan.next == plan.slots.size() || plan.slots[plan.next].nbytes != nbytes) return plan.depart(), nullptr;
  const size_t number = plan.next;
  const Slot& slot = plan.slots[number];
  Arena* const arena = plan.arena;
  for (const uint32_t k : slot.before)
    if (arena->lives[k].load(std::memory_order_acquire)) return plan.depart(), nullptr;
  plan.next++;
  if (slot.offset == kNoPlace) return nullptr;
  arena->lives[number].store(true, std::memory_order_relaxed);
  arena->users.fetch_add(1, std::memory_order_relaxed);
  auto* header = reinterpret_cast<Header*>(arena->begin + slot.offset);
  unpoison_memory(header, sizeof(Header));
  *header = {arena, number};
  return header + 1;
}

void watch_block(MemoryPlan::State& plan, void* data, size_t nbytes) {
  if (!plan.watches || plan.slots.size() == kMaxBlocks) return;
  plan.living[data] = static_cast<uint32_t>(plan.slots.size());
  Slot slot;
  slot.nbytes = nbytes;
  slot.birth = plan.time++;
  plan.slots.push_back(std::move(slot));
}

void watch_end_of_block(MemoryPlan::State& plan, void* data) {
  if (!plan.watches) return;
  const auto found = plan.living.find(data);
  if (found == plan.living.end()) return;
  plan.slots[found->second].death = plan.time++;
  plan.living.erase(found);
}

bool give_back_planned(void* data) {
  const char* p = static_cast<const char*>(data);
  {
    Arenas& all = arenas();
    const std::shared_lock lock(all.mutex);
    auto at = all.by_begin.upper_bound(p);
    if (at == all.by_begin.begin()) return false;
    const Arena& a = *(--at)->second;
    if (p >= a.begin + a.bytes) return false;
  }
  const Header header = *(static_cast<Header*>(data) - 1);
  header.arena->lives[header.slot].store(false, std::memory_order_release);
  drop(header.arena);
  return true;
}

MemoryPlan::MemoryPlan() : state_(std::make_unique<State>()) {}
MemoryPlan::~MemoryPlan() = default;
MemoryPlan::Facts MemoryPlan::facts() const { return state_->facts; }
bool MemoryPlan::followed() const { return state_->followed; }

MemoryPlan::Run::Run(MemoryPlan& plan) : plan_(t_memory_plan ? nullptr : &plan), exceptions_(std::uncaught_exceptions()) {
  if (!plan_) return;
  plan_->state_->begin();
  t_memory_plan = plan_->state_.get();
}
MemoryPlan::Run::~Run() {
  if (!plan_) return;
  t_memory_plan = nullptr;
  plan_->state_->end(std::uncaught_exceptions() != exceptions_);
}

}  // namespace cresset
