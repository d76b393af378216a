#pragma once
// Protocol buffers (protobuf.dev/programming-guides/encoding), written only: a message is the bytes of its fields. For this room and the Python extension.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "cresset/base/macros.h"

namespace cresset::train::wire {

inline void varint(std::string& out, uint64_t value) {
  for (; value > 0x7F; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}
template <class T> void raw(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}
inline std::string integer(int field, int64_t value) {
  std::string out;
  varint(out, static_cast<uint64_t>(field) << 3);
  varint(out, static_cast<uint64_t>(value));
  return out;
}
inline std::string real(int field, double value) {
  std::string out;
  varint(out, static_cast<uint64_t>(field) << 3 | 1);
  raw(out, value);
  return out;
}
inline std::string single(int field, float value) {
  std::string out;
  varint(out, static_cast<uint64_t>(field) << 3 | 5);
  raw(out, value);
  return out;
}
// Bytes, text, a message, or packed numbers.
inline std::string data(int field, std::string_view value) {
  std::string out;
  varint(out, static_cast<uint64_t>(field) << 3 | 2);
  varint(out, value.size());
  return out.append(value);
}

}  // namespace cresset::train::wire

namespace cresset::train {

// The checksum of Castagnoli's polynomial, and in the form that records of an event file store.
CRESSET_API uint32_t crc32c(std::string_view data);
CRESSET_API uint32_t masked_crc(std::string_view data);

}  // namespace cresset::train
