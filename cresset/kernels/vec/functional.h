#pragma once
// Functions of vectors over arrays: map(f, out, in, n), reduce_all(f, in, n). For Half and BFloat16 the functions get vectors of float.

#include "cresset/kernels/vec/convert.h"

namespace cresset::vec {
inline namespace CRESSET_VEC_NAMESPACE {

namespace detail {

// The vector that functions get for elements of T.
template <class T> using Lanes = Vectorized<Compute<T>>;
template <class T> constexpr int step = Lanes<T>::size();

template <class T> Lanes<T> load(const T* source, int64_t n) {
  if constexpr (is_reduced<T>) {
    float lanes[step<T>] = {};
    convert(source, lanes, n);
    return Lanes<T>::loadu(lanes);
  } else {
    return n == step<T> ? Lanes<T>::loadu(source) : Lanes<T>::loadu(source, n);
  }
}
template <class T, class V> void store(T* target, const V& lanes, int64_t n) {
  if constexpr (std::is_same<T, typename V::value_type>::value) {
    if (n == step<T>) lanes.store(target);
    else lanes.store(target, n);
  } else {
    typename V::value_type elements[V::size()];
    lanes.store(elements);
    convert(elements, target, n);
  }
}

// f of vectors that have names, as functions with references as parameters need.
template <class F, class... V> auto call(F& f, V... v) { return f(v...); }

template <class T, class F, class O, class... I> void map_arrays(F& f, O* out, int64_t n, const I*... in) {
  int64_t i = 0;
  for (; i + step<T> <= n; i += step<T>) store(out + i, call(f, load(in + i, step<T>)...), step<T>);
  if (i < n) store(out + i, call(f, load(in + i, n - i)...), n - i);
}

// The first n lanes of a vector as one element.
template <class V, class F> typename V::value_type reduce_lanes(F& f, V lanes, int n) {
  using T = typename V::value_type;
  if (n == V::size()) {
    for (int half = n / 2; half > 0; half /= 2) {
      V other = lanes;
      for (int i = 0; i < half; i++) other[i] = lanes[i + half];
      lanes = f(lanes, other);
    }
    return lanes[0];
  }
  V total = lanes;
  for (int i = 1; i < n; i++) {
    V next = V(static_cast<T>(lanes[i]));
    total = f(total, next);
  }
  return total[0];
}

template <class T, class M, class F, class... I> Compute<T> map_reduce_arrays(M& m, F& f, int64_t n, const I*... in) {
  using V = Lanes<T>;
  if (n < step<T>) return reduce_lanes(f, V(call(m, load(in, n)...)), static_cast<int>(n));
  V total = call(m, load(in, step<T>)...);
  int64_t i = step<T>;
  for (; i + step<T> <= n; i += step<T>) {
    V next = call(m, load(in + i, step<T>)...);
    total = f(total, next);
  }
  if (i < n) {
    V next = call(m, load(in + i, n - i)...);
    total = V::set(total, f(total, next), n - i);
  }
  return reduce_lanes(f, total, V::size());
}

}  // namespace detail

// All lanes, or the first n, as one element.
template <class T, class F> T vec_reduce_all(const F& f, const Vectorized<T>& lanes, int64_t n = Vectorized<T>::size()) {
  return detail::reduce_lanes(f, lanes, static_cast<int>(n));
}

// f of an array's elements, taken together two and two. n is at least 1.
template <class T, class F> detail::Compute<T> reduce_all(const F& f, const T* data, int64_t n) {
  const auto same = [](const auto& x) { return x; };
  return detail::map_reduce_arrays<T>(same, f, n, data);
}
// Two reductions of one array.
template <class T, class F, class G> std::pair<detail::Compute<T>, detail::Compute<T>> reduce2_all(const F& f, const G& g, const T* data, int64_t n) {
  return {reduce_all<T>(f, data, n), reduce_all<T>(g, data, n)};
}
// The same of what `m` makes of the elements of one, two or three arrays.
template <class T, class M, class F> detail::Compute<T> map_reduce_all(const M& m, const F& f, const T* data, int64_t n) {
  return detail::map_reduce_arrays<T>(m, f, n, data);
}
template <class T, class M, class F> detail::Compute<T> map2_reduce_all(const M& m, const F& f, const T* a, const T* b, int64_t n) {
  return detail::map_reduce_arrays<T>(m, f, n, a, b);
}
template <class T, class M, class F> detail::Compute<T> map3_reduce_all(const M& m, const F& f, const T* a, const T* b, const T* c, int64_t n) {
  return detail::map_reduce_arrays<T>(m, f, n, a, b, c);
}

// f of the elements of one to four arrays; those of Half or BFloat16 may be read from floats.
template <class T, class F, class I> void map(const F& f, T* out, const I* in, int64_t n) { detail::map_arrays<I>(f, out, n, in); }
template <class T, class F, class I> void map2(const F& f, T* out, const I* a, const I* b, int64_t n) { detail::map_arrays<I>(f, out, n, a, b); }
template <class T, class F, class I> void map3(const F& f, T* out, const I* a, const I* b, const I* c, int64_t n) { detail::map_arrays<I>(f, out, n, a, b, c); }
template <class T, class F, class I> void map4(const F& f, T* out, const I* a, const I* b, const I* c, const I* d, int64_t n) {
  detail::map_arrays<I>(f, out, n, a, b, c, d);
}

}  // namespace CRESSET_VEC_NAMESPACE
}  // namespace cresset::vec
