#pragma once

#include <string>

#include "strided_array.h"

namespace cresset::kernels::testing {

inline Array<int64_t> random_index(std::mt19937& rng, Shape shape, int64_t size, Layout layout = Layout::contiguous) {
  Array<int64_t> a(std::move(shape), layout);
  return a.randomize(rng, 0, static_cast<int>(size));
}

template <class E, class F> std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) { return e.message(); }
  return "no error";
}

}  // namespace cresset::kernels::testing
