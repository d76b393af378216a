#pragma once
// A list of tensors whichever way it is held: consecutive tensors, or a List of values; of optional tensors too.

#include <iterator>

#include "cresset/dispatch/values/list.h"

namespace cresset {

// A tensor that may be missing.
class OptionalTensorRef {
 public:
  OptionalTensorRef() = default;
  OptionalTensorRef(const Tensor& t) : tensor_(t) {}
  OptionalTensorRef(const OptionalTensorRef&) = default;
  OptionalTensorRef& operator=(const OptionalTensorRef&) = default;
  bool has_value() const { return tensor_.defined(); }
  explicit operator bool() const { return has_value(); }
  const Tensor& operator*() const { return tensor_; }
  const Tensor* operator->() const { return &tensor_; }
  const Tensor& getTensorRef() const { return tensor_; }

 private:
  Tensor tensor_;
};

namespace detail {

// The type of an element of such a list, unboxed and as it is given out.
template <class T> struct ListRefElement;
template <> struct ListRefElement<Tensor> {
  using Reference = const Tensor&;
  using Unboxed = Tensor;
  static Reference boxed(const dispatch::Value& v) { return v.to_tensor(); }
  static Reference unboxed(const Tensor& t) { return t; }
};
template <> struct ListRefElement<OptionalTensorRef> {
  using Reference = OptionalTensorRef;
  using Unboxed = OptionalTensorRef;
  static Reference boxed(const dispatch::Value& v) { return v.is_none() ? OptionalTensorRef() : OptionalTensorRef(v.to_tensor()); }
  static Reference unboxed(const OptionalTensorRef& t) { return t; }
};
template <class T> struct BoxedOf { using type = T; };
template <> struct BoxedOf<OptionalTensorRef> { using type = std::optional<Tensor>; };

}  // namespace detail

template <class T> class IListRefIterator {
  using Element = detail::ListRefElement<T>;

 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = typename Element::Reference;

  IListRefIterator() = default;
  explicit IListRefIterator(const dispatch::Value* boxed) : boxed_(boxed) {}
  explicit IListRefIterator(const typename Element::Unboxed* unboxed) : unboxed_(unboxed) {}
  explicit IListRefIterator(const std::reference_wrapper<const T>* referred) : referred_(referred) {}
  // Errors: an iterator over nothing.
  reference operator*() const {
    CRESSET_CHECK(boxed_ || unboxed_ || referred_, "IListRef: the iterator points nowhere");
    if (referred_) return Element::unboxed(referred_->get());
    return boxed_ ? Element::boxed(*boxed_) : Element::unboxed(*unboxed_);
  }
  IListRefIterator& operator++() {
    boxed_ ? void(++boxed_) : referred_ ? void(++referred_) : void(++unboxed_);
    return *this;
  }
  IListRefIterator& operator--() {
    boxed_ ? void(--boxed_) : referred_ ? void(--referred_) : void(--unboxed_);
    return *this;
  }
  IListRefIterator operator++(int) {
    IListRefIterator before = *this;
    ++*this;
    return before;
  }
  IListRefIterator operator--(int) {
    IListRefIterator before = *this;
    --*this;
    return before;
  }
  friend bool operator==(const IListRefIterator& a, const IListRefIterator& b) {
    return a.boxed_ == b.boxed_ && a.unboxed_ == b.unboxed_ && a.referred_ == b.referred_;
  }
  friend bool operator!=(const IListRefIterator& a, const IListRefIterator& b) { return !(a == b); }

 private:
  const dispatch::Value* boxed_ = nullptr;
  const typename Element::Unboxed* unboxed_ = nullptr;
  const std::reference_wrapper<const T>* referred_ = nullptr;
};

template <class T> class IListRef {
 public:
  using value_type = T;
  using iterator = IListRefIterator<T>;
  using const_iterator = iterator;
  using unboxed_type = ArrayRef<typename detail::ListRefElement<T>::Unboxed>;
  using boxed_type = List<typename detail::BoxedOf<T>::type>;
  using materialized_type = std::vector<std::conditional_t<std::is_same<T, Tensor>::value, std::reference_wrapper<const Tensor>, T>>;

  // No list at all.
  IListRef() = default;
  // Refers to the list's elements: it must stay.
  IListRef(const boxed_type& list) : boxed_(list.impl().get()), size_(list.size()) {}
  template <class... A, class = std::enable_if_t<std::is_constructible<unboxed_type, A...>::value && (sizeof...(A) > 0)>> IListRef(A&&... args)
      : IListRef(Elements(), unboxed_type(std::forward<A>(args)...)) {}
  IListRef(std::initializer_list<T> list) : IListRef(Elements(), unboxed_type(list)) {}
  // The result of `materialize`.
  IListRef(const std::vector<std::reference_wrapper<const T>>& list) : referred_(list.data()), size_(list.size()) {}

  // Errors: there is no list.
  size_t size() const {
    CRESSET_CHECK(!isNone(), "IListRef: there is no list");
    return size_;
  }
  bool empty() const { return size() == 0; }
  iterator begin() const { return at(0); }
  iterator end() const { return at(size()); }
  typename iterator::reference front() const { return *begin(); }
  // The elements in a vector, for reading them by number.
  materialized_type materialize() const { return materialized_type(begin(), end()); }
  bool isNone() const { return !boxed_ && !unboxed_ && !referred_; }
  bool isBoxed() const { return boxed_; }
  bool isUnboxed() const { return unboxed_; }
  // Errors: the other way.
  boxed_type toBoxed() const {
    CRESSET_CHECK(boxed_, "IListRef: the list is not a List of values");
    return boxed_type(intrusive_ptr<dispatch::ListObject>::share(boxed_));
  }
  unboxed_type toUnboxed() const {
    CRESSET_CHECK(unboxed_, "IListRef: the list is a List of values");
    return elements_;
  }

 private:
  struct Elements {};
  IListRef(Elements, unboxed_type elements) : elements_(elements), size_(elements.size()), unboxed_(true) {}
  iterator at(size_t i) const { return boxed_ ? iterator(boxed_->elements.data() + i) : referred_ ? iterator(referred_ + i) : iterator(elements_.data() + i); }

  dispatch::ListObject* boxed_ = nullptr;
  const std::reference_wrapper<const T>* referred_ = nullptr;
  unboxed_type elements_;
  size_t size_ = 0;
  bool unboxed_ = false;
};

using ITensorListRef = IListRef<Tensor>;
using ITensorListRefIterator = IListRefIterator<Tensor>;
using IOptTensorListRef = IListRef<OptionalTensorRef>;
using IOptTensorListRefIterator = IListRefIterator<OptionalTensorRef>;

}  // namespace cresset
