#pragma once
// Small containers and holders that LibTorch has beside the standard library's.

#include <atomic>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cresset/base/error.h"

namespace cresset {

namespace utils {

// 64 bits.
struct bitset {
  constexpr bitset() = default;
  static constexpr size_t NUM_BITS() { return 64; }
  constexpr void set(size_t i) noexcept { bits_ |= uint64_t{1} << i; }
  constexpr void unset(size_t i) noexcept { bits_ &= ~(uint64_t{1} << i); }
  constexpr bool get(size_t i) const noexcept { return (bits_ >> i & 1) != 0; }
  constexpr bool is_entirely_unset() const noexcept { return bits_ == 0; }
  // From the lowest on.
  template <class F> void for_each_set_bit(F&& f) const {
    for (uint64_t rest = bits_; rest; rest &= rest - 1) f(static_cast<size_t>(__builtin_ctzll(rest)));
  }
  friend constexpr bool operator==(bitset a, bitset b) { return a.bits_ == b.bits_; }
  friend constexpr bool operator!=(bitset a, bitset b) { return a.bits_ != b.bits_; }

 private:
  uint64_t bits_ = 0;
};

}  // namespace utils

// Made at the first call. Threads that race may each make one; the first that is in place stays.
template <class T> class OptimisticLazy {
 public:
  OptimisticLazy() = default;
  OptimisticLazy(const OptimisticLazy& o) {
    if (T* p = o.value_.load()) value_ = new T(*p);
  }
  OptimisticLazy(OptimisticLazy&& o) noexcept : value_(o.value_.exchange(nullptr)) {}
  ~OptimisticLazy() { reset(); }
  template <class Factory> T& ensure(const Factory& factory) {
    if (T* p = value_.load(std::memory_order_acquire)) return *p;
    auto made = std::make_unique<T>(factory());
    T* first = nullptr;
    if (value_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) return *made.release();
    return *first;
  }
  OptimisticLazy& operator=(const OptimisticLazy& o) {
    if (this != &o) *this = OptimisticLazy(o);
    return *this;
  }
  OptimisticLazy& operator=(OptimisticLazy&& o) noexcept {
    if (this != &o) delete value_.exchange(o.value_.exchange(nullptr));
    return *this;
  }
  // No other thread may use the object.
  void reset() { delete value_.exchange(nullptr); }

 private:
  std::atomic<T*> value_{nullptr};
};

template <class T> class LazyValue {
 public:
  virtual ~LazyValue() = default;
  virtual const T& get() const = 0;
};
template <class T> class OptimisticLazyValue : public LazyValue<T> {
 public:
  const T& get() const override {
    return value_.ensure([this] { return compute(); });
  }

 private:
  virtual T compute() const = 0;
  mutable OptimisticLazy<T> value_;
};
template <class T> class PrecomputedLazyValue : public LazyValue<T> {
 public:
  PrecomputedLazyValue(T value) : value_(std::move(value)) {}
  const T& get() const override { return value_; }

 private:
  T value_;
};

// A thread's own object, by a function that knows where it is.
template <class T> class ThreadLocal {
 public:
  using Accessor = T* (*)();
  explicit ThreadLocal(Accessor accessor) : accessor_(accessor) {}
  ThreadLocal(const ThreadLocal&) = delete;
  ThreadLocal& operator=(const ThreadLocal&) = delete;
  T& get() { return *accessor_(); }
  T& operator*() { return get(); }
  T* operator->() { return &get(); }

 private:
  Accessor accessor_;
};

// Reads never wait: writes go to the copy that is not being read, then to the other one.
template <class T> class LeftRight {
 public:
  template <class... Args> explicit LeftRight(const Args&... args) : copies_{T(args...), T(args...)} {}
  LeftRight(const LeftRight&) = delete;
  LeftRight& operator=(const LeftRight&) = delete;
  ~LeftRight() {
    const std::lock_guard<std::mutex> lock(writing_);
    wait_for_readers(0);
    wait_for_readers(1);
  }
  template <class F> auto read(F&& f) const -> std::invoke_result_t<F, const T&> {
    const Reading reading(readers_[counter_.load()]);
    return std::forward<F>(f)(copies_[front_.load()]);
  }
  // `f` runs twice and must do the same both times. If it throws on a copy, that copy becomes the other one again.
  template <class F> auto write(F&& f) -> std::invoke_result_t<F, T&> {
    const std::lock_guard<std::mutex> lock(writing_);
    const int front = front_.load(), back = 1 - front;
    apply(f, back, front);
    front_.store(back);
    const int counter = counter_.load(), other = 1 - counter;
    wait_for_readers(other);
    counter_.store(other);
    wait_for_readers(counter);
    return apply(f, front, back);
  }

 private:
  struct Reading {
    explicit Reading(std::atomic<int>& n) : count(n) { ++count; }
    ~Reading() { --count; }
    Reading(const Reading&) = delete;
    std::atomic<int>& count;
  };
  template <class F> auto apply(F& f, int to, int intact) -> std::invoke_result_t<F, T&> {
    try {
      return f(copies_[to]);
    } catch (...) {
      copies_[to] = copies_[intact];
      throw;
    }
  }
  void wait_for_readers(int counter) const {
    while (readers_[counter].load() != 0) {}
  }

  mutable std::atomic<int> readers_[2] = {{0}, {0}};
  std::atomic<int> front_{0}, counter_{0};
  T copies_[2];
  std::mutex writing_;
};

// An object behind a mutex.
template <class T> class Synchronized final {
 public:
  Synchronized() = default;
  Synchronized(const T& value) : value_(value) {}
  Synchronized(T&& value) : value_(std::move(value)) {}
  Synchronized(const Synchronized&) = delete;
  Synchronized& operator=(const Synchronized&) = delete;
  template <class F> auto withLock(F&& f) -> std::invoke_result_t<F, T&> {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::forward<F>(f)(value_);
  }
  template <class F> auto withLock(F&& f) const -> std::invoke_result_t<F, const T&> {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::forward<F>(f)(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_{};
};

// A list whose links lie in the objects themselves; nothing is owned.
class IntrusiveListHook {
 public:
  IntrusiveListHook() = default;
  IntrusiveListHook(const IntrusiveListHook&) = delete;
  IntrusiveListHook& operator=(const IntrusiveListHook&) = delete;
  ~IntrusiveListHook() {
    if (is_linked()) unlink();
  }
  bool is_linked() const { return next_ != nullptr; }
  // Errors: it is in no list.
  void unlink() {
    CRESSET_CHECK(is_linked(), "IntrusiveListHook: the object is in no list");
    next_->prev_ = prev_;
    prev_->next_ = next_;
    next_ = prev_ = nullptr;
  }

 private:
  template <class> friend class IntrusiveList;
  template <class, class> friend class ListIterator;
  void put_before(IntrusiveListHook& next) {
    CRESSET_CHECK(!is_linked(), "IntrusiveListHook: the object is in a list already");
    next_ = &next;
    prev_ = next.prev_;
    prev_->next_ = this;
    next.prev_ = this;
  }
  IntrusiveListHook* next_ = nullptr;
  IntrusiveListHook* prev_ = nullptr;
};

template <class Hook, class T> class ListIterator {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = std::conditional_t<std::is_const<Hook>::value, const T, T>;
  using difference_type = std::ptrdiff_t;
  using pointer = value_type*;
  using reference = value_type&;

  explicit ListIterator(Hook* at) : at_(at) {}
  reference operator*() const { return static_cast<reference>(*at_); }
  pointer operator->() const { return static_cast<pointer>(at_); }
  // Errors: an iterator over nothing.
  ListIterator& operator++() {
    CRESSET_CHECK(at_, "ListIterator: it points nowhere");
    at_ = at_->next_;
    return *this;
  }
  ListIterator& operator--() {
    CRESSET_CHECK(at_, "ListIterator: it points nowhere");
    at_ = at_->prev_;
    return *this;
  }
  ListIterator operator++(int) {
    ListIterator before = *this;
    ++*this;
    return before;
  }
  ListIterator operator--(int) {
    ListIterator before = *this;
    --*this;
    return before;
  }
  friend bool operator==(const ListIterator& a, const ListIterator& b) { return a.at_ == b.at_; }
  friend bool operator!=(const ListIterator& a, const ListIterator& b) { return a.at_ != b.at_; }

 private:
  template <class> friend class IntrusiveList;
  Hook* at_;
};

template <class T> class IntrusiveList {
 public:
  using iterator = ListIterator<IntrusiveListHook, T>;
  using const_iterator = ListIterator<const IntrusiveListHook, T>;
  using reverse_iterator = std::reverse_iterator<iterator>;

  IntrusiveList() { end_.next_ = end_.prev_ = &end_; }
  IntrusiveList(const std::initializer_list<std::reference_wrapper<T>>& items) : IntrusiveList() {
    for (const auto& item : items) insert(end(), item.get());
  }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;
  ~IntrusiveList() {
    while (!empty()) begin()->unlink();
  }
  bool empty() const { return end_.next_ == &end_; }
  size_t size() const {
    size_t n = 0;
    for (const IntrusiveListHook* i = end_.next_; i != &end_; i = i->next_) n++;
    return n;
  }
  iterator begin() { return iterator(end_.next_); }
  iterator end() { return iterator(&end_); }
  const_iterator begin() const { return const_iterator(end_.next_); }
  const_iterator end() const { return const_iterator(&end_); }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  iterator iterator_to(T& item) { return iterator(&item); }
  iterator insert(iterator where, T& item) {
    item.put_before(*where.at_);
    return iterator(&item);
  }

 private:
  IntrusiveListHook end_;
};

// (index, element) of each element of a range.
template <class Range> class Enumerated {
  using Inner = decltype(std::begin(std::declval<Range&>()));

 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using reference = decltype(*std::declval<Inner&>());
    struct Proxy {
      const size_t index;
      reference element;
      reference operator*() const { return element; }
      std::remove_reference_t<reference>* operator->() const { return &element; }
    };
    using value_type = Proxy;
    using pointer = Proxy*;
    Iterator(Inner at) : at_(at) {}
    Proxy operator*() const { return {index_, *at_}; }
    Iterator& operator++() {
      ++at_;
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& o) const { return at_ == o.at_; }
    bool operator!=(const Iterator& o) const { return at_ != o.at_; }

   private:
    Inner at_;
    size_t index_ = 0;
  };
  explicit Enumerated(Range&& range) : range_(std::forward<Range>(range)) {}
  Iterator begin() { return Iterator(std::begin(range_)); }
  Iterator end() { return Iterator(std::end(range_)); }

 private:
  Range range_;
};
template <class Range> Enumerated<Range> enumerate(Range&& range) { return Enumerated<Range>(std::forward<Range>(range)); }

// Counts up and down; `acquire` waits for a count above zero.
class Semaphore {
 public:
  Semaphore(int32_t initial = 0) : count_(initial) {}
  void release(int32_t n = 1) { count_.fetch_add(n); }
  bool tryAcquire() {
    int32_t n = count_.load();
    while (n > 0)
      if (count_.compare_exchange_weak(n, n - 1)) return true;
    return false;
  }
  void acquire() {
    while (!tryAcquire()) {}
  }

 private:
  std::atomic<int32_t> count_;
};

enum RegistryPriority { REGISTRY_FALLBACK = 1, REGISTRY_DEFAULT = 2, REGISTRY_PREFERRED = 3 };

// Makers of objects by key.
template <class Key, class ObjectPtr, class... Args> class Registry {
 public:
  using Creator = std::function<ObjectPtr(Args...)>;

  explicit Registry(bool = true) {}
  // Of several makers the one of the highest priority counts. Errors: a second one of the same priority, which ends the process
  // unless SetTerminate(false) was called.
  void Register(const Key& key, Creator creator, RegistryPriority priority = REGISTRY_DEFAULT) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry* old = find(key);
    if (old && priority == old->priority) {
      const std::string text = str("registry: the key is registered already: ", text_of(key));
      if (terminate_) {
        std::fprintf(stderr, "%s\n", text.c_str());
        std::exit(1);
      }
      throw std::runtime_error(text);  // the class that LibTorch's programs catch
    }
    if (!old) entries_.push_back({key, std::move(creator), priority, {}});
    else if (priority > old->priority) *old = {key, std::move(creator), priority, old->help};
  }
  void Register(const Key& key, Creator creator, const std::string& help, RegistryPriority priority = REGISTRY_DEFAULT) {
    Register(key, std::move(creator), priority);
    if (Entry* e = find(key)) e->help = help;
  }
  bool Has(const Key& key) { return find(key) != nullptr; }
  // An empty pointer for an unknown key.
  ObjectPtr Create(const Key& key, Args... args) {
    Entry* e = find(key);
    return e ? e->creator(args...) : ObjectPtr();
  }
  std::vector<Key> Keys() const {
    std::vector<Key> keys;
    for (const Entry& e : entries_) keys.push_back(e.key);
    return keys;
  }
  const char* HelpMessage(const Key& key) const {
    for (const Entry& e : entries_)
      if (e.key == key) return e.help.c_str();
    return nullptr;
  }
  void SetTerminate(bool terminate) { terminate_ = terminate; }

 private:
  struct Entry {
    Key key;
    Creator creator;
    RegistryPriority priority;
    std::string help;
  };
  Entry* find(const Key& key) {
    for (Entry& e : entries_)
      if (e.key == key) return &e;
    return nullptr;
  }
  static std::string text_of(const std::string& key) { return key; }
  template <class K> static std::string text_of(const K&) { return "(of another type)"; }

  std::vector<Entry> entries_;
  bool terminate_ = true;
  std::mutex mutex_;
};
template <class Key, class ObjectPtr, class... Args> class Registerer {
 public:
  using Makers = Registry<Key, ObjectPtr, Args...>;
  explicit Registerer(const Key& key, Makers* registry, typename Makers::Creator creator, const std::string& help = "") {
    registry->Register(key, std::move(creator), help);
  }
  explicit Registerer(const Key& key, RegistryPriority priority, Makers* registry, typename Makers::Creator creator, const std::string& help = "") {
    registry->Register(key, std::move(creator), help, priority);
  }
  template <class Derived> static ObjectPtr DefaultCreator(Args... args) { return ObjectPtr(new Derived(args...)); }
};

}  // namespace cresset
