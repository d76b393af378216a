#pragma once
// A dict from keys to values of one type each, shared by its copies and in the order of insertion.

#include <stdexcept>

#include "cresset/dispatch/values/object.h"

namespace cresset {

namespace detail {

// A place in a dict: `key()`, `value()`, `setValue(v)`.
template <class K, class V> class DictEntry {
 public:
  K key() const { return dispatch::ValueAs<K>::get(entry().key); }
  V value() const { return dispatch::ValueAs<V>::get(entry().value); }
  void setValue(V value) const { dict_->entries[at_].value = dispatch::Value(std::move(value)); }

 private:
  template <class, class> friend class ::cresset::Dict;
  template <class, class> friend class DictIterator;
  const dispatch::DictObject::Entry& entry() const { return dict_->entries[at_]; }
  dispatch::DictObject* dict_ = nullptr;
  size_t at_ = 0;
};

template <class K, class V> class DictIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = DictEntry<K, V>;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = const value_type&;

  DictIterator() = default;
  const DictEntry<K, V>& operator*() const { return entry_; }
  const DictEntry<K, V>* operator->() const { return &entry_; }
  DictIterator& operator++() {
    entry_.at_++;
    return *this;
  }
  DictIterator operator++(int) {
    DictIterator before = *this;
    entry_.at_++;
    return before;
  }
  friend difference_type operator-(const DictIterator& a, const DictIterator& b) {
    return static_cast<difference_type>(a.at()) - static_cast<difference_type>(b.at());
  }
  friend bool operator==(const DictIterator& a, const DictIterator& b) { return a.at() == b.at(); }
  friend bool operator!=(const DictIterator& a, const DictIterator& b) { return !(a == b); }
  friend bool operator<(const DictIterator& a, const DictIterator& b) { return a.at() < b.at(); }
  friend bool operator<=(const DictIterator& a, const DictIterator& b) { return !(b < a); }
  friend bool operator>(const DictIterator& a, const DictIterator& b) { return b < a; }
  friend bool operator>=(const DictIterator& a, const DictIterator& b) { return !(a < b); }

 private:
  template <class, class> friend class ::cresset::Dict;
  size_t at() const { return entry_.at_; }
  DictEntry<K, V> entry_;
};

}  // namespace detail

template <class K, class V> class Dict {
 public:
  using key_type = K;
  using mapped_type = V;
  using size_type = size_t;
  using iterator = detail::DictIterator<K, V>;

  Dict() : impl_(make_intrusive<dispatch::DictObject>(dispatch::ValueAs<K>::kind, dispatch::ValueAs<V>::kind)) {}
  Dict(dispatch::ElementKind key, dispatch::ElementKind value) : impl_(make_intrusive<dispatch::DictObject>(key, value)) {}
  explicit Dict(intrusive_ptr<dispatch::DictObject> impl) : impl_(std::move(impl)) {}
  // A dict that is moved from stays as it is: both are handles to one.
  Dict(const Dict&) = default;
  Dict& operator=(const Dict&) = default;

  // A dict of its own with the same entries.
  Dict copy() const {
    Dict out(impl_->key_kind, impl_->value_kind);
    for (const auto& e : impl_->entries) out.impl_->insert(e.key, e.value);
    return out;
  }
  iterator begin() const { return place(0); }
  iterator end() const { return place(size()); }
  bool empty() const { return impl_->entries.empty(); }
  size_t size() const { return impl_->entries.size(); }
  void clear() const { impl_->clear(); }
  void reserve(size_t n) const { impl_->reserve(n); }
  // An entry that is there keeps its value.
  template <class Key, class Val> std::pair<iterator, bool> insert(Key&& key, Val&& value) const {
    const auto [at, is_new] = impl_->insert(dispatch::Value(K(std::forward<Key>(key))), dispatch::Value(V(std::forward<Val>(value))));
    return {place(at), is_new};
  }
  template <class Key, class Val> std::pair<iterator, bool> insert_or_assign(Key&& key, Val&& value) const {
    dispatch::Value boxed(V(std::forward<Val>(value)));
    const auto [at, is_new] = impl_->insert(dispatch::Value(K(std::forward<Key>(key))), boxed);
    if (!is_new) impl_->entries[at].value = std::move(boxed);
    return {place(at), is_new};
  }
  void erase(iterator where) const { impl_->erase(where.entry_.at_); }
  // The number of entries that went: 0 or 1.
  size_t erase(const K& key) const {
    const size_t at = impl_->at(dispatch::Value(key));
    if (at == size()) return 0;
    impl_->erase(at);
    return 1;
  }
  iterator find(const K& key) const { return place(impl_->at(dispatch::Value(key))); }
  bool contains(const K& key) const { return find(key) != end(); }
  // Errors: std::out_of_range, no such key.
  V at(const K& key) const {
    const iterator found = find(key);
    if (found == end()) throw std::out_of_range("dict: the key is not there");
    return found->value();
  }
  // Python's `is`.
  bool is(const Dict& o) const { return impl_ == o.impl_; }
  size_t use_count() const { return impl_.use_count(); }
  friend bool operator==(const Dict& a, const Dict& b) { return dispatch::Value(a) == dispatch::Value(b); }
  friend bool operator!=(const Dict& a, const Dict& b) { return !(a == b); }
  dispatch::ElementKind keyType() const { return impl_->key_kind; }
  dispatch::ElementKind valueType() const { return impl_->value_kind; }
  const intrusive_ptr<dispatch::DictObject>& impl() const { return impl_; }

 private:
  iterator place(size_t at) const {
    iterator i;
    i.entry_.dict_ = impl_.get();
    i.entry_.at_ = at;
    return i;
  }

  intrusive_ptr<dispatch::DictObject> impl_;
};

template <class K, class V> std::ostream& operator<<(std::ostream& out, const Dict<K, V>& dict) { return out << dispatch::Value(dict); }

namespace dispatch {
template <class K, class V> Value::Value(Dict<K, V> v) : Value(intrusive_ptr<Object>(v.impl())) {}
template <class M, class, class> Value::Value(const M& v) : Value() {
  Dict<typename M::key_type, typename M::mapped_type> dict;
  for (const auto& e : v) dict.insert(e.first, e.second);
  *this = Value(dict);
}
template <class K, class V> struct ValueAs<Dict<K, V>> {
  static constexpr ElementKind kind = ElementKind::Dict;
  static Dict<K, V> get(const Value& v) { return Dict<K, V>(v.toGenericDict().impl()); }
};
template <class K, class V> struct ValueAs<std::unordered_map<K, V>> {
  static constexpr ElementKind kind = ElementKind::Dict;
  static std::unordered_map<K, V> get(const Value& v);
};
template <class K, class V> std::unordered_map<K, V> ValueAs<std::unordered_map<K, V>>::get(const Value& v) {
  std::unordered_map<K, V> out;
  for (const auto& e : Dict<K, V>(v.toGenericDict().impl())) out.emplace(e.key(), e.value());
  return out;
}
}  // namespace dispatch

// The same dict under other types: its entries are looked at when they are read.
template <class K, class V> Dict<K, V> toTypedDict(const dispatch::GenericDict& dict) { return Dict<K, V>(dict.impl()); }
template <class K, class V> dispatch::GenericDict toGenericDict(const Dict<K, V>& dict) { return dispatch::GenericDict(dict.impl()); }

}  // namespace cresset
