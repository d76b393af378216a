#pragma once
// Vectors of quantised elements: float x is the integer round(x / scale) + zero_point, within the bounds of its type.

#include <algorithm>
#include <limits>

#include "cresset/base/numbers/quantized.h"
#include "cresset/kernels/vec/vectorized.h"

namespace cresset::vec {
inline namespace CRESSET_VEC_NAMESPACE {

template <class Int> class Vectorized<Quantized<Int>> {
  using Q = Quantized<Int>;
  using Ints = Vectorized<Int>;

 public:
  using value_type = Int;
  using size_type = int;
  static constexpr size_type size() { return Ints::size(); }
  // How many vectors of float hold as many elements.
  static constexpr int float_num_vecs() { return size() / Vectorized<float>::size(); }
  static constexpr int int_num_vecs() { return float_num_vecs(); }
  using float_vec_return_type = std::array<Vectorized<float>, static_cast<size_t>(float_num_vecs())>;
  using int_vec_return_type = std::array<Vectorized<qint32>, static_cast<size_t>(int_num_vecs())>;

  Vectorized() = default;
  Vectorized(const Q& value) : ints_(value.val_) {}

  static Vectorized loadu(const void* source) { return Vectorized(Ints::loadu(source)); }
  static Vectorized loadu(const void* source, int64_t count) { return Vectorized(Ints::loadu(source, count)); }
  void store(void* target) const { ints_.store(target); }
  void store(void* target, int64_t count) const { ints_.store(target, count); }
  const Int& operator[](int lane) const { return ints_[lane]; }

  // The zero point is added in float, as in LibTorch.
  static Vectorized quantize(const float_vec_return_type& values, float, int32_t zero_point, float inverse_scale) {
    Vectorized out;
    for (int i = 0; i < size(); i++) {
      const float x = values[static_cast<size_t>(i / kFloats)][i % kFloats] * inverse_scale;
      out.ints_[i] = within_bounds(static_cast<double>(static_cast<float>(zero_point) + std::nearbyint(x)));
    }
    return out;
  }
  float_vec_return_type dequantize(const Vectorized<float>& scale, const Vectorized<float>& zero_point) const {
    float_vec_return_type out;
    for (int i = 0; i < size(); i++)
      out[static_cast<size_t>(i / kFloats)][i % kFloats] = (static_cast<float>(ints_[i]) - zero_point[i % kFloats]) * scale[i % kFloats];
    return out;
  }
  // `premultiplied` is -scale * zero_point, for instructions that multiply and add at once.
  float_vec_return_type dequantize(const Vectorized<float>& scale, const Vectorized<float>& zero_point, const Vectorized<float>& premultiplied) const {
#if defined(__FMA__) && (defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512))
    float_vec_return_type out;
    for (int i = 0; i < size(); i++)
      out[static_cast<size_t>(i / kFloats)][i % kFloats] = std::fma(scale[i % kFloats], static_cast<float>(ints_[i]), premultiplied[i % kFloats]);
    return out;
#else
    static_cast<void>(premultiplied);
    return dequantize(scale, zero_point);
#endif
  }
  static Vectorized requantize_from_int(const int_vec_return_type& values, float multiplier, int32_t zero_point) {
    Vectorized out;
    for (int i = 0; i < size(); i++) {
      const float x = static_cast<float>(values[static_cast<size_t>(i / kFloats)][i % kFloats]) * multiplier;
      out.ints_[i] = within_bounds(static_cast<double>(std::nearbyint(x)) + zero_point);
    }
    return out;
  }
  int_vec_return_type widening_subtract(const Vectorized& o) const {
    int_vec_return_type out;
    int32_t lanes[kFloats];
    for (int part = 0; part < int_num_vecs(); part++) {
      for (int i = 0; i < kFloats; i++) lanes[i] = static_cast<int32_t>(ints_[part * kFloats + i]) - static_cast<int32_t>(o.ints_[part * kFloats + i]);
      out[static_cast<size_t>(part)] = Vectorized<qint32>::loadu(lanes);
    }
    return out;
  }

  Vectorized relu(const Vectorized& zero_point) const { return maximum(zero_point); }
  Vectorized relu6(const Vectorized& zero_point, const Vectorized& six) const { return maximum(zero_point).minimum(six); }
  Vectorized maximum(const Vectorized& o) const { return Vectorized(vec::maximum(ints_, o.ints_)); }
  Vectorized minimum(const Vectorized& o) const { return Vectorized(vec::minimum(ints_, o.ints_)); }
  friend Vectorized operator+(const Vectorized& a, const Vectorized& b) { return Vectorized(a.ints_ + b.ints_); }
  friend Vectorized operator*(const Vectorized& a, const Vectorized& b) { return Vectorized(a.ints_ * b.ints_); }
  friend std::ostream& operator<<(std::ostream& out, const Vectorized& v) { return out << v.ints_; }

 private:
  static constexpr int kFloats = Vectorized<float>::size();
  explicit Vectorized(const Ints& ints) : ints_(ints) {}
  static Int within_bounds(double x) {
    if (x != x) return std::numeric_limits<Int>::max();
    return static_cast<Int>(std::min<double>(std::max<double>(x, std::numeric_limits<Int>::min()), std::numeric_limits<Int>::max()));
  }

  Ints ints_;
};

template <class Int> Vectorized<Quantized<Int>> maximum(const Vectorized<Quantized<Int>>& a, const Vectorized<Quantized<Int>>& b) { return a.maximum(b); }
template <class Int> Vectorized<Quantized<Int>> minimum(const Vectorized<Quantized<Int>>& a, const Vectorized<Quantized<Int>>& b) { return a.minimum(b); }

}  // namespace CRESSET_VEC_NAMESPACE
}  // namespace cresset::vec
