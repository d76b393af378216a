#pragma once
// Sources of the bytes of archives.

#include <istream>
#include <string>

#include "torch/detail/macros.h"

namespace caffe2::serialize {

class ReadAdapterInterface {
 public:
  virtual ~ReadAdapterInterface() = default;
  virtual size_t size() const = 0;
  // The number of bytes that it read into `buffer`; `what` is for messages. Errors: it cannot read there.
  virtual size_t read(uint64_t position, void* buffer, size_t n, const char* what = "") const = 0;
};

// Of a stream that can seek. It is not owned.
class IStreamAdapter final : public ReadAdapterInterface {
 public:
  // Errors: the stream cannot seek.
  explicit IStreamAdapter(std::istream* stream) : stream_(stream) {
    const auto before = stream->tellg();
    stream->seekg(0, std::istream::end);
    size_ = static_cast<size_t>(stream->tellg());
    stream->seekg(before);
    TORCH_CHECK(stream->good(), "IStreamAdapter: the stream cannot seek");
  }
  size_t size() const override { return size_; }
  size_t read(uint64_t position, void* buffer, size_t n, const char* what = "") const override {
    stream_->seekg(static_cast<std::streamoff>(position));
    stream_->read(static_cast<char*>(buffer), static_cast<std::streamsize>(n));
    TORCH_CHECK(stream_->good(), "IStreamAdapter: the stream ends before ", n, " bytes from ", position, " are read, ", what);
    return n;
  }

 private:
  std::istream* stream_;
  size_t size_ = 0;
};

}  // namespace caffe2::serialize
