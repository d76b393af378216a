#pragma once
// Shared by the targets: bytes read as a file, errors of ours swallowed. Anything else that a reader does is a finding.

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "cresset/base/error.h"
#include "cresset/io/zip.h"

namespace cresset::fuzz {

template <class Body> void expect_errors_only(const Body& body) {
  try {
    body();
  } catch (const Error& e) {
    if (!e.what()[0]) std::abort();  // an error says what is wrong
  }
}

// Reads every byte, so that a sanitizer sees whether it may.
inline void touch(const void* data, size_t size) {
  static volatile unsigned char sink;
  unsigned char sum = 0;
  for (size_t i = 0; i < size; i++) sum = static_cast<unsigned char>(sum + static_cast<const unsigned char*>(data)[i]);
  sink = static_cast<unsigned char>(sink + sum);
}

inline std::shared_ptr<io::MemorySource> source_of(const uint8_t* data, size_t size) { return std::make_shared<io::MemorySource>(data, size); }

}  // namespace cresset::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
