#pragma once
// One backward pass: which nodes take part, what each still waits for, and what has arrived. Private to the autograd room.

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <queue>

#include "cresset/autograd/node.h"
#include "cresset/core/layers.h"

namespace cresset {
namespace autograd {

// Node -> number: open addressing, without allocation for small graphs.
class NodeIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  NodeIndex() : slots_(inline_), mask_(kInline - 1) {
    for (Slot& s : inline_) s.node = nullptr;
  }
  ~NodeIndex() {
    if (slots_ != inline_) delete[] slots_;
  }
  NodeIndex(const NodeIndex&) = delete;
  NodeIndex& operator=(const NodeIndex&) = delete;

  uint32_t find(const Node* node) const {
    for (size_t i = hash(node) & mask_;; i = (i + 1) & mask_) {
      if (slots_[i].node == node) return slots_[i].index;
      if (!slots_[i].node) return kNone;
    }
  }
  // The number of `node`, which becomes `fresh` if it had none.
  uint32_t find_or_insert(const Node* node, uint32_t fresh) {
    size_t i = hash(node) & mask_;
    for (; slots_[i].node; i = (i + 1) & mask_)
      if (slots_[i].node == node) return slots_[i].index;
    slots_[i] = {node, fresh};
    if (++count_ * 2 > mask_) grow();
    return fresh;
  }

 private:
  struct Slot {
    const Node* node;
    uint32_t index;
  };
  static constexpr size_t kInline = 32;
  static size_t hash(const Node* node) { return (reinterpret_cast<uintptr_t>(node) * 0x9e3779b97f4a7c15ull) >> 20; }
  void grow() {
    const size_t size = 4 * (mask_ + 1);
    Slot* fresh = new Slot[size]();
    for (size_t k = 0; k <= mask_; k++) {
      if (!slots_[k].node) continue;
      size_t i = hash(slots_[k].node) & (size - 1);
      while (fresh[i].node) i = (i + 1) & (size - 1);
      fresh[i] = slots_[k];
    }
    if (slots_ != inline_) delete[] slots_;
    slots_ = fresh;
    mask_ = size - 1;
  }

  Slot inline_[kInline];
  Slot* slots_;
  size_t mask_, count_ = 0;
};

struct NodeState {
  explicit NodeState(Node* n) : node(n) {}
  // Alive through the edges from the roots, which the caller of the pass holds.
  Node* node;
  uint32_t dependencies = 0;
  // In a restricted pass: runs because something asked for lies behind it; an asked-for edge ends here.
  bool needed = false, captured = false;
  variable_list arrived;
};

struct Capture {
  uint32_t state, input_nr;
  size_t output;
};

struct Ready {
  uint64_t sequence_nr;
  uint32_t state;
  friend bool operator<(const Ready& a, const Ready& b) { return a.sequence_nr < b.sequence_nr; }
};

struct GraphTask;

// Work of several passes for one thread.
class TaskQueue {
 public:
  static constexpr uint32_t kFinished = UINT32_MAX;
  struct Item {
    GraphTask* task;
    int depth;
    Ready ready;
    // Nested passes first: the outer ones wait for them.
    friend bool operator<(const Item& a, const Item& b) { return a.depth != b.depth ? a.depth < b.depth : a.ready < b.ready; }
  };
  void push(Item item) {
    std::lock_guard<std::mutex> lock(mutex_);
    items_.push(item);
    wake_.notify_one();
  }
  Item pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [&] { return !items_.empty(); });
    const Item item = items_.top();
    items_.pop();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::priority_queue<Item> items_;
};

struct GraphTask {
  static int64_t next_number() {
    static std::atomic<int64_t> next{0};
    return next.fetch_add(1, std::memory_order_relaxed);
  }
  const int64_t number = next_number();
  NodeIndex index;
  SmallVector<NodeState, 8> states;
  SmallVector<Ready, 16> ready;
  std::vector<Capture> captures;
  variable_list captured;
  std::vector<std::function<void()>> callbacks;
  bool keep_graph = false, restricted = false;

  // With accelerators: several threads work on the pass, and everything above is used under the mutex.
  bool shared = false;
  std::mutex mutex;
  std::shared_ptr<TaskQueue> home;
  LayerState layers;
  int depth = 0;
  size_t outstanding = 0;
  std::exception_ptr error;
  // Read and written by the home thread only.
  bool finished = false;
};

}  // namespace autograd
}  // namespace cresset
