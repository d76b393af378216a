#pragma once
// A list of values of one type that is shared by its copies, as TorchScript and boxed calls have it.

#include <functional>
#include <stdexcept>

#include "cresset/dispatch/values/object.h"

namespace cresset {

namespace detail {

// The type that reading an element of a constant list gives: a reference where one is cheaper, and possible.
template <class T> struct ConstElement {
  using type = T;
  static T get(const dispatch::Value& v) { return dispatch::ValueAs<T>::get(v); }
};
template <> struct ConstElement<std::string> {
  using type = const std::string&;
  static const std::string& get(const dispatch::Value& v) { return v.to_string(); }
};
template <> struct ConstElement<Tensor> {
  using type = const Tensor&;
  static const Tensor& get(const dispatch::Value& v) { return v.to_tensor(); }
};
template <> struct ConstElement<std::optional<std::string>> {
  using type = std::optional<std::reference_wrapper<const std::string>>;
  static type get(const dispatch::Value& v) { return v.is_none() ? type() : type(std::cref(v.to_string())); }
};

// An element of a list: reads as T, and writes.
template <class T> class ListElement {
 public:
  ListElement(ListElement&&) noexcept = default;
  operator std::conditional_t<std::is_reference<typename ConstElement<T>::type>::value, typename ConstElement<T>::type, T>() const {
    if constexpr (std::is_reference<typename ConstElement<T>::type>::value) return ConstElement<T>::get(*value_);
    else return dispatch::ValueAs<T>::get(*value_);
  }
  const dispatch::Value& get() const { return *value_; }
  ListElement& operator=(T value) && {
    *value_ = dispatch::Value(std::move(value));
    return *this;
  }
  ListElement& operator=(ListElement&& o) && {
    *value_ = *o.value_;
    return *this;
  }
  friend void swap(ListElement&& a, ListElement&& b) { a.value_->swap(*b.value_); }
  friend bool operator==(const ListElement& a, const T& b) { return a.typed() == b; }
  friend bool operator==(const T& a, const ListElement& b) { return b.typed() == a; }
  friend bool operator!=(const ListElement& a, const T& b) { return !(a == b); }
  friend bool operator!=(const T& a, const ListElement& b) { return !(b == a); }
  friend bool operator==(const ListElement& a, const ListElement& b) { return a.typed() == b.typed(); }

 private:
  template <class> friend class ::cresset::List;
  template <class> friend class ListIterator;
  explicit ListElement(dispatch::Value& value) : value_(&value) {}
  T typed() const { return dispatch::ValueAs<T>::get(*value_); }
  dispatch::Value* value_;
};
template <class T> std::ostream& operator<<(std::ostream& out, const ListElement<T>& e) { return out << e.get(); }

template <class T> class ListIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = ListElement<T>;

  ListIterator() = default;
  ListElement<T> operator*() const { return ListElement<T>(*at_); }
  ListElement<T> operator[](difference_type n) const { return ListElement<T>(at_[n]); }
  ListIterator& operator++() {
    ++at_;
    return *this;
  }
  ListIterator operator++(int) {
    ListIterator before = *this;
    ++at_;
    return before;
  }
  ListIterator& operator--() {
    --at_;
    return *this;
  }
  ListIterator operator--(int) {
    ListIterator before = *this;
    --at_;
    return before;
  }
  ListIterator& operator+=(difference_type n) {
    at_ += n;
    return *this;
  }
  ListIterator& operator-=(difference_type n) {
    at_ -= n;
    return *this;
  }
  friend ListIterator operator+(ListIterator i, difference_type n) { return i += n; }
  friend ListIterator operator+(difference_type n, ListIterator i) { return i += n; }
  friend ListIterator operator-(ListIterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(const ListIterator& a, const ListIterator& b) { return a.at_ - b.at_; }
  friend bool operator==(const ListIterator& a, const ListIterator& b) { return a.at_ == b.at_; }
  friend bool operator!=(const ListIterator& a, const ListIterator& b) { return a.at_ != b.at_; }
  friend bool operator<(const ListIterator& a, const ListIterator& b) { return a.at_ < b.at_; }
  friend bool operator<=(const ListIterator& a, const ListIterator& b) { return a.at_ <= b.at_; }
  friend bool operator>(const ListIterator& a, const ListIterator& b) { return a.at_ > b.at_; }
  friend bool operator>=(const ListIterator& a, const ListIterator& b) { return a.at_ >= b.at_; }

 private:
  template <class> friend class ::cresset::List;
  explicit ListIterator(dispatch::Value* at) : at_(at) {}
  dispatch::Value* at_ = nullptr;
};

}  // namespace detail

template <class T> class List {
 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = detail::ListIterator<T>;
  using const_iterator = iterator;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using internal_reference_type = detail::ListElement<T>;
  using internal_const_reference_type = typename detail::ConstElement<T>::type;

  List() : impl_(make_intrusive<dispatch::ListObject>(dispatch::ValueAs<T>::kind)) {}
  List(std::initializer_list<T> values) : List(ArrayRef<T>(values)) {}
  explicit List(ArrayRef<T> values) : List() {
    for (const T& v : values) push_back(v);
  }
  // An empty list of a type that is only known at run time.
  explicit List(dispatch::ElementKind element) : impl_(make_intrusive<dispatch::ListObject>(element)) {}
  explicit List(intrusive_ptr<dispatch::ListObject> impl) : impl_(std::move(impl)) {}
  // A list that is moved from stays as it is: both are handles to one.
  List(const List&) = default;
  List& operator=(const List&) = default;

  // A list of its own with the same elements.
  List copy() const {
    List out;
    out.impl_->element = impl_->element;
    out.elements() = elements();
    return out;
  }
  // Errors, here and below: std::out_of_range, no such element.
  T get(size_t i) const { return dispatch::ValueAs<T>::get(at(i)); }
  internal_reference_type operator[](size_t i) { return internal_reference_type(at(i)); }
  internal_const_reference_type operator[](size_t i) const { return detail::ConstElement<T>::get(at(i)); }
  // Takes the element out; what stays is unspecified.
  T extract(size_t i) const {
    T out = get(i);
    at(i) = dispatch::Value(T());
    return out;
  }
  void set(size_t i, const T& value) const { at(i) = dispatch::Value(value); }
  void set(size_t i, T&& value) const { at(i) = dispatch::Value(std::move(value)); }

  iterator begin() const { return iterator(elements().data()); }
  iterator end() const { return iterator(elements().data() + size()); }
  bool empty() const { return elements().empty(); }
  size_t size() const { return elements().size(); }
  void reserve(size_t n) const { elements().reserve(n); }
  void clear() const { elements().clear(); }
  iterator insert(iterator where, const T& value) const { return emplace(where, value); }
  iterator insert(iterator where, T&& value) const { return emplace(where, std::move(value)); }
  template <class... Args> iterator emplace(iterator where, Args&&... args) const {
    const auto offset = where - begin();
    elements().insert(elements().begin() + offset, dispatch::Value(T(std::forward<Args>(args)...)));
    return begin() + offset;
  }
  void push_back(const T& value) const { elements().emplace_back(value); }
  void push_back(T&& value) const { elements().emplace_back(std::move(value)); }
  template <class... Args> void emplace_back(Args&&... args) const { elements().emplace_back(T(std::forward<Args>(args)...)); }
  void append(List other) const {
    for (const dispatch::Value& v : std::vector<dispatch::Value>(other.elements())) elements().push_back(v);
  }
  iterator erase(iterator where) const {
    const auto offset = where - begin();
    elements().erase(elements().begin() + offset);
    return begin() + offset;
  }
  iterator erase(iterator first, iterator last) const {
    const auto offset = first - begin();
    elements().erase(elements().begin() + offset, elements().begin() + (last - begin()));
    return begin() + offset;
  }
  void pop_back() const { elements().pop_back(); }
  void resize(size_t n) const { elements().resize(n, dispatch::Value(T())); }
  void resize(size_t n, const T& value) const { elements().resize(n, dispatch::Value(value)); }
  std::vector<T> vec() const {
    std::vector<T> out;
    for (const dispatch::Value& v : elements()) out.push_back(dispatch::ValueAs<T>::get(v));
    return out;
  }
  size_t use_count() const { return impl_.use_count(); }
  // Python's `is`.
  bool is(const List& o) const { return impl_ == o.impl_; }
  friend bool operator==(const List& a, const List& b) { return dispatch::Value(a) == dispatch::Value(b); }
  friend bool operator!=(const List& a, const List& b) { return !(a == b); }
  friend void swap(List& a, List& b) noexcept { a.impl_.swap(b.impl_); }
  dispatch::ElementKind elementType() const { return impl_->element; }
  const intrusive_ptr<dispatch::ListObject>& impl() const { return impl_; }

 private:
  std::vector<dispatch::Value>& elements() const { return impl_->elements; }
  dispatch::Value& at(size_t i) const {
    if (CRESSET_UNLIKELY(i >= size())) throw std::out_of_range(str("list: index ", i, " is out of range for a list of ", size()));
    return elements()[i];
  }

  intrusive_ptr<dispatch::ListObject> impl_;
};

template <class T> std::ostream& operator<<(std::ostream& out, const List<T>& list) { return out << dispatch::Value(list); }

namespace dispatch {
template <class T> Value::Value(List<T> v) : Value(intrusive_ptr<Object>(v.impl())) {}
template <class T> Value::Value(const std::vector<T>& v) : Value(ArrayRef<T>(v)) {}
template <class T> Value::Value(ArrayRef<T> v) : Value(List<T>(v)) {}
template <class T, size_t N> Value::Value(const std::array<T, N>& v) : Value(ArrayRef<T>(v)) {}
template <class T> struct ValueAs<List<T>> {
  static constexpr ElementKind kind = ElementKind::List;
  // The same list where the value holds one, else a new one.
  static List<T> get(const Value& v) {
    if (const auto* o = v.object(); o && (*o)->kind() == Object::Kind::List)
      return List<T>(intrusive_ptr<ListObject>::share(static_cast<ListObject*>(o->get())));
    List<T> out;
    for (const Value& e : v.toListVector()) out.push_back(ValueAs<T>::get(e));
    return out;
  }
};
}  // namespace dispatch

// The same list under the type of its elements. Errors: they are of another type.
template <class T> List<T> toTypedList(const dispatch::GenericList& list) {
  CRESSET_CHECK(list.elementType() == dispatch::ValueAs<T>::kind, "toTypedList: the elements of the list are of another type");
  return List<T>(list.impl());
}
template <class T> dispatch::GenericList toList(const List<T>& list) { return dispatch::GenericList(list.impl()); }

}  // namespace cresset
