#pragma once
// Inside the room: a frame is the length of what follows, a number that ties an answer to its request, and bytes.

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "cresset/dist/errors.h"

namespace cresset::distributed::rpc {

constexpr size_t kHeadBytes = 2 * sizeof(uint64_t);
constexpr uint64_t kLargestFrame = uint64_t{1} << 34;

inline std::string frame_head(uint64_t number, size_t bytes) {
  const uint64_t size = bytes + sizeof number;
  CRESSET_CHECK_VALUE(size <= kLargestFrame, "rpc: expected at most ", kLargestFrame, " bytes in a message, got ", bytes);
  std::string head(kHeadBytes, '\0');
  std::memcpy(head.data(), &size, sizeof size);
  std::memcpy(head.data() + sizeof size, &number, sizeof number);
  return head;
}

// Cuts a stream of bytes into frames. Memory grows with the bytes that have come, whatever a head promises.
class FrameReader {
 public:
  using Take = std::function<void(uint64_t number, std::string bytes)>;
  // Errors: DistNetworkError for a head that is none.
  void feed(std::string_view bytes, const Take& take) {
    while (!bytes.empty()) {
      const size_t part = std::min<uint64_t>(in_head() ? kHeadBytes - head_.size() : wanted_ - body_.size(), bytes.size());
      (in_head() ? head_ : body_).append(bytes.substr(0, part));
      bytes.remove_prefix(part);
      if (in_head()) continue;
      if (!begun_) begin();
      if (body_.size() < wanted_) continue;
      uint64_t number = 0;
      std::memcpy(&number, head_.data() + sizeof(uint64_t), sizeof number);
      std::string body = std::move(body_);
      head_.clear();
      body_.clear();
      begun_ = false;
      take(number, std::move(body));
    }
  }

 private:
  bool in_head() const { return head_.size() < kHeadBytes; }
  void begin() {
    uint64_t size = 0;
    std::memcpy(&size, head_.data(), sizeof size);
    CRESSET_CHECK_AS(DistNetworkError, size >= sizeof(uint64_t) && size <= kLargestFrame, "rpc: not a message: ", size, " bytes");
    wanted_ = size - sizeof(uint64_t);
    begun_ = true;
  }

  std::string head_, body_;
  bool begun_ = false;
  uint64_t wanted_ = 0;
};

}  // namespace cresset::distributed::rpc
