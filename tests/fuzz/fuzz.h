#pragma once
// Shared by the targets: bytes read as a file, errors of ours swallowed. Anything else that a reader does is a finding.

#include <sched.h>

#include <chrono>
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

// One input in `n`, always the same ones: for what costs much and sees little of an input.
inline bool one_in(uint32_t n, const uint8_t* data, size_t size) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 16777619u;
  return (hash ^ hash >> 16) % n == 0;
}

// A client and its server take turns: on one core a turn costs half of what it costs between two.
inline void stay_on_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  const int here = sched_getcpu();
  if (here < 0) return;
  CPU_SET(static_cast<size_t>(here), &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Waits until the other side answers or closes; a finding where it does neither. In short turns, so that a machine that sleeps counts as one.
template <class Socket> void await_answer(const Socket& socket) {
  for (int turns = 0; !wait_readable(socket, std::chrono::steady_clock::now() + std::chrono::seconds(1)); turns++)
    if (turns == 120) std::abort();
}

inline std::shared_ptr<io::MemorySource> source_of(const uint8_t* data, size_t size) { return std::make_shared<io::MemorySource>(data, size); }

}  // namespace cresset::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
