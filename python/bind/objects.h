#pragma once
// The object of every tensor that has one, and who keeps objects. An entry of the table lives as long as its object; the interpreter's lock protects the table.

#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "cresset/core/hooks.h"
#include "python/bind/bind.h"

namespace cresset::python {

// Open addressing over the tensor's address, so that an operator's result costs two short probes and no allocation.
class ObjectTable {
 public:
  PyObject* find(const TensorImpl* key) const {
    for (size_t i = home(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].object;
      if (!slots_[i].key) return nullptr;
    }
  }
  void insert(const TensorImpl* key, PyObject* object) {
    if (++count_ * 2 > slots_.size()) grow();
    place({key, object});
  }
  void erase(const TensorImpl* key) {
    size_t i = home(key);
    while (slots_[i].key != key) {
      if (!slots_[i].key) return;
      i = (i + 1) & mask_;
    }
    count_--;
    // Later entries of the run move up where the gap would cut them off from their home.
    for (size_t next = (i + 1) & mask_; slots_[next].key; next = (next + 1) & mask_) {
      const size_t wanted = home(slots_[next].key);
      if (((next - wanted) & mask_) >= ((next - i) & mask_)) {
        slots_[i] = slots_[next];
        i = next;
      }
    }
    slots_[i] = {};
  }

 private:
  struct Slot {
    const TensorImpl* key = nullptr;
    PyObject* object = nullptr;
  };
  size_t home(const TensorImpl* key) const { return static_cast<size_t>((reinterpret_cast<uintptr_t>(key) >> 4) * 0x9E3779B97F4A7C15ull >> 20) & mask_; }
  void place(Slot slot) {
    size_t i = home(slot.key);
    while (slots_[i].key) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& s : old)
      if (s.key) place(s);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  size_t mask_ = 1023, count_ = 0;
};

// The tensors, or storages, that keep their Python objects. Asked without the interpreter's lock: a tensor may end on a worker thread that the lock's
// holder waits for.
template <class T> class Keepers {
 public:
  explicit Keepers(ObjectHook<T>& hook) : hook_(hook) {}
  void add(const T* keeper) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.insert(keeper);
    hook_.kept.fetch_add(1);
  }
  void remove(const T* keeper) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.erase(keeper);
    hook_.kept.fetch_sub(1);
  }
  bool contain(const T* keeper) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return all_.count(keeper) != 0;
  }

 private:
  ObjectHook<T>& hook_;
  std::mutex mutex_;
  std::unordered_set<const T*> all_;
};

}  // namespace cresset::python
