#pragma once
// A dictionary that remembers the order of insertion: parameters, buffers and children by name.

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cresset/base/error.h"

namespace cresset {

template <class Key, class Value> class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    Value& operator*() { return value(); }
    const Value& operator*() const { return value(); }
    Value* operator->() { return &value(); }
    const Value* operator->() const { return &value(); }
    const Key& key() const noexcept { return pair_.first; }
    Value& value() noexcept { return pair_.second; }
    const Value& value() const noexcept { return pair_.second; }
    const std::pair<Key, Value>& pair() const noexcept { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;
  using key_type = Key;
  using value_type = Value;

  explicit OrderedDict(std::string key_description = "Key") : key_description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : key_description_("Key") {
    for (const Item& item : items) insert(item.key(), item.value());
  }

  const std::string& key_description() const noexcept { return key_description_; }
  Item& front() {
    check_not_empty("front");
    return items_.front();
  }
  const Item& front() const {
    check_not_empty("front");
    return items_.front();
  }
  Item& back() {
    check_not_empty("back");
    return items_.back();
  }
  const Item& back() const {
    check_not_empty("back");
    return items_.back();
  }
  Item& operator[](size_t i) {
    check_position(i);
    return items_[i];
  }
  const Item& operator[](size_t i) const {
    check_position(i);
    return items_[i];
  }
  // Errors: no such key.
  Value& operator[](const Key& key) { return *found(key, find(key)); }
  const Value& operator[](const Key& key) const { return *found(key, find(key)); }
  // The value, or null.
  Value* find(const Key& key) noexcept {
    auto it = index_.find(key);
    return it == index_.end() ? nullptr : &items_[it->second].value();
  }
  const Value* find(const Key& key) const noexcept { return const_cast<OrderedDict*>(this)->find(key); }
  bool contains(const Key& key) const noexcept { return find(key) != nullptr; }

  Iterator begin() { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator begin() const { return items_.begin(); }
  ConstIterator end() const { return items_.end(); }
  size_t size() const noexcept { return items_.size(); }
  bool is_empty() const noexcept { return items_.empty(); }
  void reserve(size_t n) { items_.reserve(n); }

  // Errors: the key is taken.
  template <class K, class V> Value& insert(K&& key, V&& value) {
    const bool fresh = index_.emplace(key, items_.size()).second;
    CRESSET_CHECK(fresh, key_description_, " '", key, "' already defined");
    items_.emplace_back(std::forward<K>(key), std::forward<V>(value));
    return items_.back().value();
  }
  Value& insert(Key key, Value&& value) { return insert<Key, Value>(std::move(key), std::move(value)); }
  void update(OrderedDict&& other) {
    reserve(size() + other.size());
    for (Item& item : other.items_) insert(Key(item.key()), std::move(item.value()));
  }
  void update(const OrderedDict& other) {
    reserve(size() + other.size());
    for (const Item& item : other.items_) insert(item.key(), item.value());
  }
  // Errors: no such key.
  void erase(const Key& key) {
    auto it = index_.find(key);
    CRESSET_CHECK(it != index_.end(), key_description_, " '", key, "' is not defined");
    const size_t at = it->second;
    index_.erase(it);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
    for (auto& entry : index_) entry.second -= entry.second > at;
  }
  void clear() {
    index_.clear();
    items_.clear();
  }

  const std::vector<Item>& items() const noexcept { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> keys;
    for (const Item& item : items_) keys.push_back(item.key());
    return keys;
  }
  std::vector<Value> values() const {
    std::vector<Value> values;
    for (const Item& item : items_) values.push_back(item.value());
    return values;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> pairs;
    for (const Item& item : items_) pairs.push_back(item.pair());
    return pairs;
  }
  friend bool operator==(const OrderedDict& a, const OrderedDict& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++)
      if (!(a.items_[i].pair() == b.items_[i].pair())) return false;
    return true;
  }

 private:
  template <class V> V* found(const Key& key, V* value) const {
    CRESSET_CHECK(value, key_description_, " '", key, "' is not defined");
    return value;
  }
  void check_not_empty(const char* what) const { CRESSET_CHECK(!items_.empty(), "Called ", what, "() on an empty OrderedDict"); }
  void check_position(size_t i) const { CRESSET_CHECK_INDEX(i < items_.size(), key_description_, " index ", i, " is out of range, size is ", items_.size()); }

  std::unordered_map<Key, size_t> index_;
  std::vector<Item> items_;
  std::string key_description_;
};

}  // namespace cresset
