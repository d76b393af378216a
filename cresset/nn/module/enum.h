#pragma once
// Named choices of layers and losses: `kMean`, `kSame`, `kBilinear`. Each is a type of its own, so that an option accepts only those that it knows.

#include <cstdint>
#include <string>
#include <type_traits>

#include "cresset/base/macros.h"

namespace cresset {

// clang-format off
#define CRESSET_FOR_EACH_CHOICE(X)                                                                                              \
  X(Linear) X(Conv1D) X(Conv2D) X(Conv3D) X(ConvTranspose1D) X(ConvTranspose2D) X(ConvTranspose3D) X(Sigmoid) X(Tanh) X(ReLU)   \
  X(GELU) X(SiLU) X(Mish) X(LeakyReLU) X(FanIn) X(FanOut) X(Constant) X(Reflect) X(Replicate) X(Circular) X(Nearest)            \
  X(NearestExact) X(Bilinear) X(Bicubic) X(Trilinear) X(Area) X(Sum) X(Mean) X(Max) X(None) X(BatchMean) X(Zeros) X(Border)     \
  X(Reflection) X(RNN_TANH) X(RNN_RELU) X(LSTM) X(GRU) X(Valid) X(Same)
// clang-format on

namespace enumtype {

namespace detail {
#define CRESSET_CHOICE_ID(Name) Name,
enum Id : uint8_t { CRESSET_FOR_EACH_CHOICE(CRESSET_CHOICE_ID) };
#undef CRESSET_CHOICE_ID
}  // namespace detail

#define CRESSET_CHOICE_TYPE(Name)               \
  struct k##Name {                              \
    static constexpr uint8_t id = detail::Name; \
  };
CRESSET_FOR_EACH_CHOICE(CRESSET_CHOICE_TYPE)
#undef CRESSET_CHOICE_TYPE

// "kMean" for kMean::id.
CRESSET_API const char* name_of(uint8_t id);

// One of the listed choices; the first one when default-constructed.
template <class First, class... Rest> class OneOf {
 public:
  template <class T> static constexpr bool allows = std::is_same<T, First>::value || (std::is_same<T, Rest>::value || ...);

  constexpr OneOf() : id_(First::id) {}
  template <class T, class = std::enable_if_t<allows<T>>> constexpr OneOf(T) : id_(T::id) {}
  template <class F, class... R, class = std::enable_if_t<allows<F> && (allows<R> && ...)>> constexpr OneOf(OneOf<F, R...> other) : id_(other.id()) {}

  template <class T> constexpr bool is() const {
    static_assert(allows<T>, "the option has no such choice");
    return id_ == T::id;
  }
  constexpr uint8_t id() const { return id_; }
  const char* name() const { return name_of(id_); }
  template <class T, class = std::enable_if_t<allows<T>>> friend constexpr bool operator==(OneOf a, T) { return a.id_ == T::id; }
  template <class T, class = std::enable_if_t<allows<T>>> friend constexpr bool operator!=(OneOf a, T) { return a.id_ != T::id; }

 private:
  uint8_t id_;
};

template <class... Choices> std::string get_enum_name(OneOf<Choices...> choice) { return choice.name(); }

}  // namespace enumtype

#define CRESSET_CHOICE_CONSTANT(Name) constexpr enumtype::k##Name k##Name{};
CRESSET_FOR_EACH_CHOICE(CRESSET_CHOICE_CONSTANT)
#undef CRESSET_CHOICE_CONSTANT

// How losses as operators take their reduction: nll_loss(x, y, {}, Reduction::Sum).
namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}

using Reduction_t = enumtype::OneOf<enumtype::kNone, enumtype::kMean, enumtype::kSum>;

}  // namespace cresset
