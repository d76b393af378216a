#pragma once
// The type of a tensor's elements as LibTorch's `dtype()` gives it: a dtype, or any C++ type that a program has made known.

#include <cstddef>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include "cresset/base/dtype.h"

namespace cresset {

struct TypeIdentifier {
  uint64_t value = 0;
  constexpr bool operator==(TypeIdentifier o) const { return value == o.value; }
  constexpr bool operator!=(TypeIdentifier o) const { return value != o.value; }
  constexpr bool operator<(TypeIdentifier o) const { return value < o.value; }
  constexpr uint64_t underlyingId() const { return value; }
  template <class T> static TypeIdentifier Get();
  static constexpr TypeIdentifier uninitialized() { return {0}; }
};

namespace detail {

// How objects of the type are made, copied and ended. A null entry: the type cannot, or it needs nothing done.
struct TypeFacts {
  size_t itemsize;
  void* (*make)();
  void (*construct)(void* at, size_t n);
  void (*copy)(const void* from, void* to, size_t n);
  void (*destruct)(void* at, size_t n);
  void (*destroy)(void* object);
  TypeIdentifier id;
  std::string_view name;
};
CRESSET_API const TypeFacts& type_facts(uint16_t index);
CRESSET_API uint16_t register_type(const TypeFacts& facts);
[[noreturn]] CRESSET_API void throw_cannot(const char* what, std::string_view type);

// The type's name as the compiler writes it.
template <class T> constexpr std::string_view type_name() {
#if defined(__clang__)
  constexpr std::string_view text = __PRETTY_FUNCTION__, before = "T = ";
  const size_t from = text.find(before) + before.size(), to = text.rfind(']');
#else
  constexpr std::string_view text = __PRETTY_FUNCTION__, before = "with T = ";
  const size_t from = text.find(before) + before.size(), semicolon = text.find("; std::string_view"),
               to = semicolon == std::string_view::npos ? text.rfind(']') : semicolon;
#endif
  return text.substr(from, to - from);
}

// FNV-1a (Fowler, Noll, Vo): the same number in every library of the process.
constexpr uint64_t hash_of(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

template <class T, class = void> struct HasDtype : std::false_type {};
template <class T> struct HasDtype<T, std::void_t<decltype(CppTypeToScalarType<T>::value)>> : std::true_type {};

// LibTorch's name for the copy function of types that have none.
template <class T> void _CopyNotAllowed(const void*, void*, size_t) { throw_cannot("cannot be assigned", type_name<T>()); }

// The name that a program gave the type.
template <class T> struct KnownTypeName {
  static std::string_view name() { return type_name<T>(); }
};

}  // namespace detail

template <class T> TypeIdentifier TypeIdentifier::Get() { return {detail::hash_of(detail::type_name<T>())}; }

class CRESSET_API TypeMeta {
 public:
  constexpr TypeMeta() = default;
  static constexpr TypeMeta fromScalarType(ScalarType t) { return TypeMeta(static_cast<uint16_t>(t)); }
  // The type of T's objects; another T is registered when it is met for the first time.
  template <class T> static TypeMeta Make() {
    if constexpr (detail::HasDtype<T>::value) return fromScalarType(CppTypeToScalarType<T>::value);
    else return TypeMeta(registered<T>());
  }
  template <class T> static TypeIdentifier Id() { return TypeIdentifier::Get<T>(); }
  template <class T> static std::string_view TypeName() { return Make<T>().name(); }
  template <class T> static constexpr size_t ItemSize() { return sizeof(T); }

  constexpr bool isScalarType() const { return index_ < static_cast<uint16_t>(ScalarType::Undefined); }
  constexpr bool isScalarType(ScalarType t) const { return index_ == static_cast<uint16_t>(t); }
  // Errors: the type is no dtype.
  ScalarType toScalarType() const {
    if (CRESSET_UNLIKELY(index_ > static_cast<uint16_t>(ScalarType::Undefined))) throw_no_dtype();
    return static_cast<ScalarType>(index_);
  }
  operator ScalarType() const { return toScalarType(); }

  TypeIdentifier id() const { return detail::type_facts(index_).id; }
  size_t itemsize() const { return detail::type_facts(index_).itemsize; }
  std::string_view name() const { return detail::type_facts(index_).name; }
  auto newFn() const { return detail::type_facts(index_).make; }
  auto placementNew() const { return detail::type_facts(index_).construct; }
  auto copy() const { return detail::type_facts(index_).copy; }
  auto placementDelete() const { return detail::type_facts(index_).destruct; }
  auto deleteFn() const { return detail::type_facts(index_).destroy; }
  template <class T> bool Match() const { return *this == Make<T>(); }

  friend constexpr bool operator==(TypeMeta a, TypeMeta b) { return a.index_ == b.index_; }
  friend constexpr bool operator!=(TypeMeta a, TypeMeta b) { return a.index_ != b.index_; }
  friend constexpr bool operator==(TypeMeta a, ScalarType b) { return a.isScalarType(b); }
  friend constexpr bool operator!=(TypeMeta a, ScalarType b) { return !a.isScalarType(b); }
  friend constexpr bool operator==(ScalarType a, TypeMeta b) { return b.isScalarType(a); }
  friend constexpr bool operator!=(ScalarType a, TypeMeta b) { return !b.isScalarType(a); }
  friend CRESSET_API std::ostream& operator<<(std::ostream& out, TypeMeta t);

 private:
  explicit constexpr TypeMeta(uint16_t index) : index_(index) {}
  [[noreturn]] void throw_no_dtype() const;

  template <class T> static uint16_t registered() {
    static const uint16_t index = detail::register_type(facts<T>());
    return index;
  }
  template <class T> static detail::TypeFacts facts() {
    detail::TypeFacts f{sizeof(T), nullptr, nullptr, nullptr, nullptr, nullptr, TypeIdentifier::Get<T>(), detail::KnownTypeName<T>::name()};
    if constexpr (std::is_default_constructible<T>::value) f.make = [] { return static_cast<void*>(new T); };
    else f.make = []() -> void* { detail::throw_cannot("is not default-constructible", detail::type_name<T>()); };
    if constexpr (!std::is_fundamental<T>::value && !std::is_pointer<T>::value) {
      if constexpr (std::is_default_constructible<T>::value)
        f.construct = [](void* at, size_t n) {
          for (size_t i = 0; i < n; i++) new (static_cast<T*>(at) + i) T;
        };
      else f.construct = [](void*, size_t) { detail::throw_cannot("is not default-constructible", detail::type_name<T>()); };
      if constexpr (std::is_copy_assignable<T>::value)
        f.copy = [](const void* from, void* to, size_t n) {
          for (size_t i = 0; i < n; i++) static_cast<T*>(to)[i] = static_cast<const T*>(from)[i];
        };
      else f.copy = detail::_CopyNotAllowed<T>;
      f.destruct = [](void* at, size_t n) {
        for (size_t i = 0; i < n; i++) static_cast<T*>(at)[i].~T();
      };
    }
    f.destroy = [](void* object) { delete static_cast<T*>(object); };
    return f;
  }

  uint16_t index_ = static_cast<uint16_t>(ScalarType::Undefined);
};

inline ScalarType typeMetaToScalarType(TypeMeta t) { return t.toScalarType(); }
inline TypeMeta scalarTypeToTypeMeta(ScalarType t) { return TypeMeta::fromScalarType(t); }

}  // namespace cresset
