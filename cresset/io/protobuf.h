#pragma once
// Fields of protocol buffers (protobuf.dev/programming-guides/encoding), written only: a message is the bytes of its fields.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cresset::io::protobuf {

// How the bytes of a field are delimited.
enum WireType : int { kVarint = 0, kEightBytes = 1, kLengthDelimited = 2, kFourBytes = 5 };

inline void varint(std::string& out, uint64_t value) {
  for (; value > 0x7F; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}
inline void key(std::string& out, int field, WireType type) { varint(out, static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type)); }
template <class T> void raw(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}
inline std::string integer(int field, int64_t value) {
  std::string out;
  key(out, field, kVarint);
  varint(out, static_cast<uint64_t>(value));
  return out;
}
inline std::string real(int field, double value) {
  std::string out;
  key(out, field, kEightBytes);
  raw(out, value);
  return out;
}
inline std::string single(int field, float value) {
  std::string out;
  key(out, field, kFourBytes);
  raw(out, value);
  return out;
}
// Bytes, text, a message, or packed numbers.
inline std::string data(int field, std::string_view value) {
  std::string out;
  key(out, field, kLengthDelimited);
  varint(out, value.size());
  return out.append(value);
}

}  // namespace cresset::io::protobuf
