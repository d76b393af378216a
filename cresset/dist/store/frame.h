#pragma once
// Inside the room: requests to a store's server and its answers, as bytes. A frame is its length and then a code, a number and texts.

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cresset/dist/errors.h"

namespace cresset::distributed {

enum class Command : uint8_t {
  Hello,
  Set,
  Get,
  Add,
  CompareSet,
  Check,
  Delete,
  Count,
  Wait,
  Append,
  MultiSet,
  Push,
  Pop,
  Length,
  Keys,
  Acquire,
  Release,
  kLast = Release
};
enum class Status : uint8_t { Done, TimedOut, BadValue };

struct Frame {
  uint8_t code = 0;
  int64_t number = 0;  // an amount, a time in milliseconds, a result
  std::vector<std::string> texts;
};

constexpr size_t kFrameHead = sizeof(uint32_t), kLargestFrame = size_t{1} << 30;

inline std::string encode_frame(const Frame& f) {
  size_t size = 1 + sizeof f.number + sizeof(uint32_t);
  for (const std::string& t : f.texts) size += sizeof(uint32_t) + t.size();
  CRESSET_CHECK_VALUE(size <= kLargestFrame, "store: expected at most ", kLargestFrame, " bytes in a request, got ", size);
  std::string bytes;
  bytes.reserve(kFrameHead + size);
  auto put = [&](const auto& n) { bytes.append(reinterpret_cast<const char*>(&n), sizeof n); };
  put(static_cast<uint32_t>(size));
  put(f.code);
  put(f.number);
  put(static_cast<uint32_t>(f.texts.size()));
  for (const std::string& t : f.texts) {
    put(static_cast<uint32_t>(t.size()));
    bytes += t;
  }
  return bytes;
}

inline uint32_t frame_size(const char* head) {
  uint32_t size = 0;
  std::memcpy(&size, head, sizeof size);
  CRESSET_CHECK_AS(DistNetworkError, size <= kLargestFrame, "store: not a frame: ", size, " bytes");
  return size;
}

// The frame behind a head. Errors: DistNetworkError for bytes that are none.
inline Frame decode_frame(const char* data, size_t size) {
  size_t at = 0;
  auto check = [](bool whole) { CRESSET_CHECK_AS(DistNetworkError, whole, "store: not a frame"); };
  auto take = [&](auto& n) {
    check(size - at >= sizeof n);
    std::memcpy(&n, data + at, sizeof n);
    at += sizeof n;
  };
  Frame f;
  uint32_t count = 0;
  take(f.code);
  take(f.number);
  take(count);
  check(count <= (size - at) / sizeof(uint32_t));
  f.texts.reserve(count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t length = 0;
    take(length);
    check(length <= size - at);
    f.texts.emplace_back(data + at, length);
    at += length;
  }
  check(at == size);
  return f;
}

}  // namespace cresset::distributed
