#pragma once
// Numbers for types, the same in every library of the process, and their names.

#include <ostream>
#include <string_view>

#include "cresset/base/type_meta.h"

namespace cresset::util {

namespace detail {
// CRC-64 (Jones), reflected, as redis and others compute it: check value e9c6d914c4b8d9ca for "123456789".
constexpr uint64_t crc64_of(const char* data, size_t size, uint64_t crc = 0) {
  for (size_t i = 0; i < size; i++) {
    crc ^= static_cast<uint8_t>(data[i]);
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0x95ac9329ac4bc9b5u & (0 - (crc & 1)));
  }
  return crc;
}
}  // namespace detail

template <class Id, class Number> class IdWrapper {
 public:
  using underlying_type = Number;
  using concrete_type = Id;
  friend constexpr bool operator==(const Id& a, const Id& b) { return a.underlyingId() == b.underlyingId(); }
  friend constexpr bool operator!=(const Id& a, const Id& b) { return a.underlyingId() != b.underlyingId(); }
  friend constexpr bool operator<(const Id& a, const Id& b) { return a.underlyingId() < b.underlyingId(); }
  friend std::ostream& operator<<(std::ostream& out, const Id& id) { return out << id.underlyingId(); }
  constexpr Number underlyingId() const { return id_; }

 protected:
  constexpr explicit IdWrapper(Number id) noexcept : id_(id) {}

 private:
  Number id_;
};

struct crc64_t final : IdWrapper<crc64_t, uint64_t> {
  constexpr crc64_t(uint64_t checksum) : IdWrapper(checksum) {}
  constexpr uint64_t checksum() const { return underlyingId(); }
};
constexpr crc64_t crc64(const char* data, size_t size) { return crc64_t(detail::crc64_of(data, size)); }
constexpr crc64_t crc64(std::string_view text) { return crc64(text.data(), text.size()); }

struct type_index final : IdWrapper<type_index, uint64_t> {
  constexpr explicit type_index(uint64_t checksum) : IdWrapper(checksum) {}
};

template <class T> constexpr std::string_view get_fully_qualified_type_name() { return cresset::detail::type_name<T>(); }
// References, const and pointers to functions are looked through.
template <class T> constexpr type_index get_type_index() {
  using D = std::decay_t<T>;
  using Plain = std::conditional_t<std::is_function<std::remove_pointer_t<D>>::value, std::remove_pointer_t<D>, D>;
  return type_index(crc64(get_fully_qualified_type_name<Plain>()).checksum());
}

}  // namespace cresset::util

namespace std {
template <> struct hash<cresset::util::type_index> {
  size_t operator()(cresset::util::type_index i) const noexcept { return static_cast<size_t>(i.underlyingId()); }
};
template <> struct hash<cresset::TypeIdentifier> {
  size_t operator()(cresset::TypeIdentifier i) const noexcept { return static_cast<size_t>(i.value); }
};
}  // namespace std
