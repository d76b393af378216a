#pragma once
// The values that a worker owns for references to it: each lives as long as some worker holds a reference.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cresset/dist/errors.h"

namespace cresset::distributed::rpc {

// The worker that made the reference, and its count there.
using ReferenceId = std::pair<int64_t, int64_t>;

class References {
 public:
  // One reference, of the worker `holder`.
  void keep(ReferenceId id, std::shared_ptr<void> value, int64_t holder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry& e = entries_[id];
    e.value = std::move(value);
    e.holders[holder]++;
    e.total++;
  }
  // Errors: DistError where the last reference is gone.
  std::shared_ptr<void> value(ReferenceId id) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = entries_.find(id);
    CRESSET_CHECK_AS(DistError, at != entries_.end(), "RRef: the value (", id.first, ", ", id.second, ") is gone");
    return at->second.value;
  }
  // One more. Errors: DistError where the last is gone.
  void add(ReferenceId id, int64_t holder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = entries_.find(id);
    CRESSET_CHECK_AS(DistError, at != entries_.end(), "RRef: the value (", id.first, ", ", id.second, ") is gone");
    at->second.holders[holder]++;
    at->second.total++;
  }
  // A reference that `from` has sent has come to `to`. In any order with the other calls: only sums count.
  void move(ReferenceId id, int64_t from, int64_t to) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = entries_.find(id);
    if (at == entries_.end()) return;
    const auto sender = at->second.holders.find(from);
    // The sender's part went with it: the one who has it now keeps the value.
    if (sender == at->second.holders.end()) at->second.total++;
    else sender->second--;
    at->second.holders[to]++;
  }
  void drop(ReferenceId id, int64_t holder) {
    std::shared_ptr<void> last;  // its end may run anything
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = entries_.find(id);
    if (at == entries_.end()) return;
    at->second.holders[holder]--;
    if (--at->second.total <= 0) last = remove(at);
  }
  // All references of a worker that is gone.
  void forget(int64_t holder) {
    std::vector<std::shared_ptr<void>> last;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto at = entries_.begin(); at != entries_.end();) {
      const auto next = std::next(at);
      if (const auto held = at->second.holders.find(holder); held != at->second.holders.end()) {
        at->second.total -= held->second;
        at->second.holders.erase(held);
        if (at->second.total <= 0) last.push_back(remove(at));
      }
      at = next;
    }
  }
  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    std::shared_ptr<void> value;
    std::map<int64_t, int64_t> holders;
    int64_t total = 0;
  };
  std::shared_ptr<void> remove(std::map<ReferenceId, Entry>::iterator at) {
    std::shared_ptr<void> value = std::move(at->second.value);
    entries_.erase(at);
    return value;
  }

  mutable std::mutex mutex_;
  std::map<ReferenceId, Entry> entries_;
};

}  // namespace cresset::distributed::rpc
