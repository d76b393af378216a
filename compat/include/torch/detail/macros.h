#pragma once
// LibTorch's checks, attributes and dispatch macros.

#include <cassert>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

#include "cresset/base/error.h"
#include "cresset/base/macros.h"
#include "cresset/base/streamed.h"
#include "cresset/base/util/text.h"
#include "cresset/base/warning_handler.h"

#ifdef NDEBUG  // <cassert> then leaves it out
extern "C" [[noreturn]] void __assert_fail(const char* condition, const char* file, unsigned line, const char* function) noexcept;
#endif

namespace cresset::compat {

template <class T, class = void> struct IsPart : std::false_type {};
template <class T> struct IsPart<T, decltype(append_part(std::declval<std::string&>(), std::declval<const T&>()))> : std::true_type {};

template <class T> void append(std::string& s, const T& value) {
  using cresset::detail::append_part;
  if constexpr (std::is_same<T, wchar_t>::value) s += utf8_of(std::wstring_view(&value, 1));
  else if constexpr (std::is_convertible<const T&, std::wstring_view>::value) s += utf8_of(value);
  else if constexpr (std::is_arithmetic<T>::value || std::is_convertible<const T&, const char*>::value) append_part(s, value);
  else if constexpr (std::is_convertible<const T&, std::string_view>::value) s += std::string_view(value);
  else if constexpr (IsPart<T>::value) append_part(s, value);
  else s += streamed([&](auto& stream) { stream << value; });
}

template <class... Parts> CRESSET_COLD std::string text_of(const Parts&... parts) {
  std::string s;
  (append(s, parts), ...);
  return s;
}

// Called with the parts of a message, or with none: then the condition says what went wrong.
struct CheckMessage {
  const char* condition;
  template <class... Parts> std::string operator()(const Parts&... parts) const {
    if constexpr (sizeof...(Parts) == 0) return std::string("expected ") + condition + " to be true, but got false";
    else return text_of(parts...);
  }
};

// A warning of `kind` at a place; the parts make its text.
template <class... Parts> CRESSET_COLD void warn(WarningKind kind, SourceLocation at, const Parts&... parts) {
  warnings::warn(warnings::Warning(kind, at, text_of(parts...)));
}

// An error with notes on the way that it took: one behind the message, in parentheses; several in lines of their own.
template <class E> class Noted : public E {
 public:
  Noted(const std::string& message, const std::string& note) : E(message + " (" + note + ")"), message_(message), lines_("\n  " + note) {}
  Noted(const Noted& before, const std::string& note)
      : E(before.message_ + before.lines_ + "\n  " + note), message_(before.message_), lines_(before.lines_ + "\n  " + note) {}

 private:
  std::string message_, lines_;
};
template <class E> [[noreturn]] CRESSET_COLD void rethrow(const E& error, const std::string& note) {
  if (const auto* noted = dynamic_cast<const Noted<E>*>(&error)) throw Noted<E>(*noted, note);
  throw Noted<E>(error.message(), note);
}

}  // namespace cresset::compat

#define TORCH_CHECK_WITH(ErrorType, cond, ...)                                                                                     \
  do {                                                                                                                             \
    if (CRESSET_UNLIKELY(!(cond))) ::cresset::detail::throw_error<ErrorType>(::cresset::compat::CheckMessage{#cond}(__VA_ARGS__)); \
  } while (false)
#define TORCH_CHECK(cond, ...) TORCH_CHECK_WITH(::cresset::Error, cond, __VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) TORCH_CHECK_WITH(::cresset::IndexError, cond, __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TORCH_CHECK_WITH(::cresset::ValueError, cond, __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TORCH_CHECK_WITH(::cresset::TypeError, cond, __VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) TORCH_CHECK_WITH(::cresset::LinAlgError, cond, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) TORCH_CHECK_WITH(::cresset::NotImplementedError, cond, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(cond, ...) TORCH_CHECK_WITH(::cresset::Error, cond, __VA_ARGS__)
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) \
  do {                                              \
  } while (false)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) TORCH_INTERNAL_ASSERT(cond, __VA_ARGS__)
#endif
#define AT_ASSERT(cond) TORCH_INTERNAL_ASSERT(cond)
#define AT_ASSERTM(cond, ...) TORCH_CHECK(cond, __VA_ARGS__)
#define AT_ERROR(...) ::cresset::detail::throw_error<::cresset::Error>(::cresset::compat::text_of(__VA_ARGS__))
#define C10_THROW_ERROR(ErrorType, message) ::cresset::detail::throw_error<::cresset::ErrorType>(message)
#define TORCH_WARN_AT_KIND(kind, ...) ::cresset::compat::warn(kind, ::cresset::SourceLocation{__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, __VA_ARGS__)
#define TORCH_WARN(...) TORCH_WARN_AT_KIND(::cresset::WarningKind::user, __VA_ARGS__)
#define TORCH_WARN_WITH(Kind, ...) TORCH_WARN_AT_KIND(static_cast<::cresset::WarningKind>(Kind()), __VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) TORCH_WARN_AT_KIND(::cresset::WarningKind::deprecation, __VA_ARGS__)
#define TORCH_WARN_ONCE(...)                         \
  do {                                               \
    static bool warned_here = false;                 \
    if (!warned_here || ::cresset::warns_always()) { \
      warned_here = true;                            \
      TORCH_WARN(__VA_ARGS__);                       \
    }                                                \
  } while (false)
#define TORCH_RETHROW(error, ...) \
  do { ::cresset::compat::rethrow(error, ::cresset::compat::text_of(__VA_ARGS__)); } while (false)
#define CUDA_KERNEL_ASSERT(cond)                                                       \
  do {                                                                                 \
    if (CRESSET_UNLIKELY(!(cond))) __assert_fail(#cond, __FILE__, __LINE__, __func__); \
  } while (false)
#define SYCL_KERNEL_ASSERT(cond) CUDA_KERNEL_ASSERT(cond)

#define TORCH_API
#define C10_API
#define C10_EXPORT CRESSET_API
#define TORCH_EXPORT CRESSET_API
#define C10_HOST_DEVICE
#define C10_HOST
#define C10_DEVICE
#define C10_LIKELY(x) CRESSET_LIKELY(x)
#define C10_UNLIKELY(x) CRESSET_UNLIKELY(x)
#define C10_ALWAYS_INLINE CRESSET_ALWAYS_INLINE
#define C10_NOINLINE CRESSET_NOINLINE
#define C10_HIDDEN __attribute__((visibility("hidden")))
#define C10_IMPORT
#define TORCH_API_INLINE inline
#define C10_USED __attribute__((__used__))
#define C10_FALLTHROUGH [[fallthrough]]
#define C10_RESTRICT CRESSET_RESTRICT
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_UID __COUNTER__
#define C10_DEPRECATED [[deprecated]]
#define C10_DEPRECATED_MESSAGE(message) [[deprecated(message)]]
#define C10_DEFINE_DEPRECATED_USING(name, type) using name [[deprecated]] = type;
#define C10_CLANG_DIAGNOSTIC_PUSH()
#define C10_CLANG_DIAGNOSTIC_POP()
#define C10_CLANG_DIAGNOSTIC_IGNORE(flag)
#define C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED(flag)
#define C10_DIAGNOSTIC_POP()
#define C10_HAS_CPP_ATTRIBUTE(x) __has_cpp_attribute(x)
#define C10_TYPENAME_SUPPORTS_CONSTEXPR 1
#define C10_ERASE [[gnu::always_inline]] inline
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_CONCATENATE(a, b) CRESSET_CONCAT(a, b)
#define C10_ANONYMOUS_VARIABLE(name) CRESSET_CONCAT(name, __COUNTER__)

// _(uint8_t, Byte) and so on, for each element type of a group.
#define AT_FORALL_INT_TYPES(_) _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long)
#define AT_FORALL_SCALAR_TYPES(_) AT_FORALL_INT_TYPES(_) _(float, Float) _(double, Double)
#define AT_PRIVATE_FORALL(Name, _) _(::cresset::ScalarTypeToCpp<::cresset::ScalarType::Name>::type, Name)
#define AT_FORALL_SCALAR_TYPES_AND(A, _) AT_FORALL_SCALAR_TYPES(_) AT_PRIVATE_FORALL(A, _)
#define AT_FORALL_SCALAR_TYPES_AND2(A, B, _) AT_FORALL_SCALAR_TYPES_AND(A, _) AT_PRIVATE_FORALL(B, _)
#define AT_FORALL_SCALAR_TYPES_AND3(A, B, C, _) AT_FORALL_SCALAR_TYPES_AND2(A, B, _) AT_PRIVATE_FORALL(C, _)
#define AT_FORALL_COMPLEX_TYPES(_) AT_PRIVATE_FORALL(ComplexFloat, _) AT_PRIVATE_FORALL(ComplexDouble, _)
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_EXCEPT_COMPLEX_HALF(_) AT_FORALL_SCALAR_TYPES_AND3(Half, Bool, BFloat16, _) AT_FORALL_COMPLEX_TYPES(_)
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(_) AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_EXCEPT_COMPLEX_HALF(_) AT_PRIVATE_FORALL(ComplexHalf, _)

// AT_DISPATCH_…(tensor.scalar_type(), "name", [&] { … scalar_t … }): runs the lambda with scalar_t bound to the element type.
#define AT_DISPATCH_CASE(Type, ...)                                           \
  case Type: {                                                                \
    using scalar_t [[maybe_unused]] = ::cresset::ScalarTypeToCpp<Type>::type; \
    return __VA_ARGS__();                                                     \
  }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                                                                                \
  [&] {                                                                                                                                                    \
    const ::cresset::ScalarType dispatched_type = TYPE;                                                                                                    \
    switch (dispatched_type) {                                                                                                                             \
      __VA_ARGS__                                                                                                                                          \
      default:                                                                                                                                             \
        ::cresset::detail::throw_error<::cresset::NotImplementedError>(::cresset::compat::text_of(NAME, ": not implemented for dtype ", dispatched_type)); \
    }                                                                                                                                                      \
  }()
#define AT_PRIVATE_CASE(Name, ...) AT_DISPATCH_CASE(::cresset::ScalarType::Name, __VA_ARGS__)

#define AT_DISPATCH_CASE_FLOATING_TYPES(...) AT_PRIVATE_CASE(Double, __VA_ARGS__) AT_PRIVATE_CASE(Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) AT_PRIVATE_CASE(Half, __VA_ARGS__) AT_PRIVATE_CASE(BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...) AT_PRIVATE_CASE(ComplexDouble, __VA_ARGS__) AT_PRIVATE_CASE(ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) \
  AT_PRIVATE_CASE(Byte, __VA_ARGS__)         \
  AT_PRIVATE_CASE(Char, __VA_ARGS__) AT_PRIVATE_CASE(Int, __VA_ARGS__) AT_PRIVATE_CASE(Long, __VA_ARGS__) AT_PRIVATE_CASE(Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_PRIVATE_CASE(Half, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(                                        \
      TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(A, B, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, TYPE, NAME, ...)                                                                   \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                                                           \
                     AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) \
                         AT_DISPATCH_CASE(C, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                                                                  \
  [&] {                                                                                                                                           \
    const ::cresset::ScalarType dispatched_index_type = TYPE;                                                                                     \
    TORCH_CHECK_WITH(::cresset::NotImplementedError, dispatched_index_type == ::cresset::kInt || dispatched_index_type == ::cresset::kLong, NAME, \
                     ": not implemented for index dtype ", dispatched_index_type);                                                                \
    if (dispatched_index_type == ::cresset::kInt) {                                                                                               \
      using index_t [[maybe_unused]] = int32_t;                                                                                                   \
      return __VA_ARGS__();                                                                                                                       \
    }                                                                                                                                             \
    using index_t [[maybe_unused]] = int64_t;                                                                                                     \
    return __VA_ARGS__();                                                                                                                         \
  }()
