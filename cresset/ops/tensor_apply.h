#pragma once
// A function of the elements of several tensors at once, which it may change: the tensors may lie in memory in any way.

#include "cresset/core/tensor.h"

namespace cresset {

namespace detail {

// The addresses of a tensor's elements in row-major order.
template <class T> class ElementWalk {
 public:
  explicit ElementWalk(const Tensor& t) : at_(static_cast<T*>(t.data_ptr())), sizes_(t.sizes().vec()), strides_(t.strides().vec()), index_(sizes_.size()) {
    CRESSET_CHECK_TYPE(t.scalar_type() == dtype_of<T>, "CPU_tensor_apply: expected a tensor of dtype ", dtype_of<T>, ", got ", t.scalar_type());
    CRESSET_CHECK(t.device().is_cpu() && t.layout() == Layout::Strided, "CPU_tensor_apply: expected a dense tensor on the CPU, got one on ", t.device());
  }
  T& operator*() const { return *at_; }
  void next() {
    for (size_t d = index_.size(); d-- > 0;) {
      at_ += strides_[d];
      if (++index_[d] < sizes_[d]) return;
      at_ -= sizes_[d] * strides_[d];
      index_[d] = 0;
    }
  }

 private:
  T* at_;
  std::vector<int64_t> sizes_, strides_, index_;
};

template <class F, class... T> void apply_elements(int64_t count, F& f, ElementWalk<T>... walks) {
  for (int64_t i = 0; i < count; i++) {
    f(*walks...);
    (walks.next(), ...);
  }
}

inline void check_numel(int64_t count, const Tensor& t) {
  CRESSET_CHECK(t.numel() == count, "CPU_tensor_apply: expected tensors with the same number of elements, got ", count, " and ", t.numel());
}

}  // namespace detail

// f(a, b): element by element in row-major order, whatever the shapes. Errors: dtypes other than A and B, another number of elements.
template <class A, class B, class F> void CPU_tensor_apply2(const Tensor& a, const Tensor& b, F f) {
  detail::check_numel(a.numel(), b);
  detail::apply_elements(a.numel(), f, detail::ElementWalk<A>(a), detail::ElementWalk<B>(b));
}
template <class A, class B, class C, class F> void CPU_tensor_apply3(const Tensor& a, const Tensor& b, const Tensor& c, F f) {
  detail::check_numel(a.numel(), b);
  detail::check_numel(a.numel(), c);
  detail::apply_elements(a.numel(), f, detail::ElementWalk<A>(a), detail::ElementWalk<B>(b), detail::ElementWalk<C>(c));
}
template <class A, class B, class C, class D, class F> void CPU_tensor_apply4(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, F f) {
  detail::check_numel(a.numel(), b);
  detail::check_numel(a.numel(), c);
  detail::check_numel(a.numel(), d);
  detail::apply_elements(a.numel(), f, detail::ElementWalk<A>(a), detail::ElementWalk<B>(b), detail::ElementWalk<C>(c), detail::ElementWalk<D>(d));
}

}  // namespace cresset
