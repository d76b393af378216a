#pragma once
// Hash maps and sets of contiguous entries: one keeps the order of insertion, the others have no order.

#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cresset {

template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>> class OrderedMap {
  using Entries = std::vector<std::pair<K, V>>;

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = std::pair<K, V>;
  using size_type = size_t;
  using iterator = typename Entries::iterator;
  using const_iterator = typename Entries::const_iterator;

  OrderedMap() = default;
  explicit OrderedMap(size_t buckets) { reserve(buckets); }
  OrderedMap(std::initializer_list<value_type> list) { insert(list.begin(), list.end()); }
  template <class It> OrderedMap(It first, It last) { insert(first, last); }
  OrderedMap(const OrderedMap&) = default;
  OrderedMap(OrderedMap&& o) noexcept : entries_(std::move(o.entries_)), index_(std::move(o.index_)) { o.clear(); }
  OrderedMap& operator=(const OrderedMap&) = default;
  OrderedMap& operator=(OrderedMap&& o) noexcept {
    if (this != &o) {
      entries_ = std::move(o.entries_);
      index_ = std::move(o.index_);
      o.clear();
    }
    return *this;
  }
  OrderedMap& operator=(std::initializer_list<value_type> list) {
    clear();
    insert(list.begin(), list.end());
    return *this;
  }

  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  const_iterator cbegin() const { return entries_.begin(); }
  const_iterator cend() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  void clear() {
    entries_.clear();
    index_.clear();
  }
  void reserve(size_t n) {
    entries_.reserve(n);
    index_.reserve(n);
  }
  void rehash(size_t n) { index_.rehash(n); }

  V& operator[](const K& key) { return insert({key, V()}).first->second; }
  V& at(const K& key) { return entries_[place(key)].second; }
  // Errors: std::out_of_range.
  const V& at(const K& key) const { return entries_[place(key)].second; }
  iterator find(const K& key) { return entries_.begin() + static_cast<std::ptrdiff_t>(place_or_end(key)); }
  const_iterator find(const K& key) const { return entries_.begin() + static_cast<std::ptrdiff_t>(place_or_end(key)); }
  size_t count(const K& key) const { return index_.count(key); }
  bool contains(const K& key) const { return count(key) != 0; }
  std::pair<iterator, iterator> equal_range(const K& key) {
    const iterator found = find(key);
    return {found, found == end() ? found : found + 1};
  }
  // An entry that is there keeps its value.
  std::pair<iterator, bool> insert(value_type entry) {
    const auto [where, is_new] = index_.emplace(entry.first, entries_.size());
    const auto at = static_cast<std::ptrdiff_t>(where->second);
    if (is_new) entries_.push_back(std::move(entry));
    return {entries_.begin() + at, is_new};
  }
  template <class It> void insert(It first, It last) {
    for (; first != last; ++first) insert(value_type(first->first, first->second));
  }
  void insert(std::initializer_list<value_type> list) { insert(list.begin(), list.end()); }
  template <class Value> std::pair<iterator, bool> insert_or_assign(const K& key, Value&& value) {
    auto result = insert({key, V()});
    result.first->second = std::forward<Value>(value);
    return result;
  }
  template <class... Args> std::pair<iterator, bool> emplace(Args&&... args) { return insert(value_type(std::forward<Args>(args)...)); }
  iterator erase(const_iterator where) { return erase(where, where + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const auto at = first - entries_.cbegin();
    for (auto i = first; i != last; ++i) index_.erase(i->first);
    entries_.erase(first, last);
    for (size_t i = static_cast<size_t>(at); i < entries_.size(); i++) index_[entries_[i].first] = i;
    return entries_.begin() + at;
  }
  size_t erase(const K& key) {
    const iterator found = find(key);
    if (found == end()) return 0;
    erase(const_iterator(found));
    return 1;
  }
  void swap(OrderedMap& o) noexcept {
    entries_.swap(o.entries_);
    index_.swap(o.index_);
  }
  friend void swap(OrderedMap& a, OrderedMap& b) noexcept { a.swap(b); }
  // In any order.
  friend bool operator==(const OrderedMap& a, const OrderedMap& b) {
    if (a.size() != b.size()) return false;
    for (const auto& e : a) {
      const auto found = b.find(e.first);
      if (found == b.end() || !(found->second == e.second)) return false;
    }
    return true;
  }
  friend bool operator!=(const OrderedMap& a, const OrderedMap& b) { return !(a == b); }

 private:
  size_t place_or_end(const K& key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? entries_.size() : found->second;
  }
  size_t place(const K& key) const {
    const size_t at = place_or_end(key);
    if (at == entries_.size()) throw std::out_of_range("the key is not in the map");
    return at;
  }
  // A hash functor whose call is not const serves, too.
  struct ConstHash {
    size_t operator()(const K& key) const { return static_cast<size_t>(Hash()(key)); }
  };
  struct ConstEqual {
    bool operator()(const K& a, const K& b) const { return Equal()(a, b); }
  };

  Entries entries_;
  std::unordered_map<K, size_t, ConstHash, ConstEqual> index_;
};

}  // namespace cresset
