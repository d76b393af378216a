#include <cmath>

#include "cresset/ops/functions.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

namespace composite {

Tensor sinc(const Tensor& self) {
  if (self.scalar_type() == kHalf || self.scalar_type() == kBFloat16) return cresset::sinc(self.to(kFloat)).to(self.scalar_type());
  const Tensor x = (is_integral_type(self.scalar_type(), true) ? self.to(get_default_dtype()) : self) * M_PI;
  const Tensor zero = x == 0;
  // Its derivatives at 0 come from the series, since x / x has none.
  const Tensor away = x.masked_fill(zero, 1);
  return cresset::where(zero, 1 - x * x / 6.0, away.sin() / away);
}

}  // namespace composite

namespace meta {

OutSpecs frexp(const Tensor& self) {
  CRESSET_CHECK(self.is_floating_point(), "frexp: only supports floating-point dtypes, got ", self.scalar_type());
  return {OutSpec{DimVector(self.sizes()), self.scalar_type(), self.device()}, OutSpec{DimVector(self.sizes()), kInt, self.device()}};
}

}  // namespace meta

namespace cpu {

void frexp(const Tensor& self, const Tensor& mantissa, const Tensor& exponent) {
  const Tensor x = self.contiguous();
  int32_t* e = static_cast<int32_t*>(exponent.data_ptr());
  auto split = [&](auto tag) {
    using T = decltype(tag);
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    using Bits = std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t>;
    constexpr int digits = std::numeric_limits<Wide>::digits - 1, bias = std::numeric_limits<Wide>::max_exponent - 2, fields = 2 * bias + 3;
    const T* from = static_cast<const T*>(x.data_ptr());
    T* m = static_cast<T*>(mantissa.data_ptr());
    for (int64_t i = 0; i < x.numel(); i++) {
      const Wide value = static_cast<Wide>(from[i]);
      const Bits bits = __builtin_bit_cast(Bits, value);
      const int field = static_cast<int>(bits >> digits) & fields;
      if (field > 0 && field < fields) {
        m[i] = static_cast<T>(__builtin_bit_cast(Wide, (bits & ~(Bits{fields} << digits)) | Bits{bias} << digits));
        e[i] = field - bias;
      } else {
        int power = 0;  // of zeros, subnormal numbers and those that are not finite
        m[i] = static_cast<T>(std::frexp(value, &power));
        e[i] = power;
      }
    }
  };
  if (self.scalar_type() == kDouble) split(double{});
  else if (self.scalar_type() == kFloat) split(float{});
  else if (self.scalar_type() == kHalf) split(Half{});
  else split(BFloat16{});
}

}  // namespace cpu

}  // namespace cresset::ops
