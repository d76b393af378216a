#include "cresset/base/error.h"

#include <cstdio>

#include "cresset/base/intrusive_ptr.h"

namespace cresset {

namespace detail {

void throw_unclaimed() { throw Error("intrusive_ptr: the object was not made by make_intrusive, so that no reference to it can be taken over"); }

void throw_out_of_range(const char* what, size_t index, size_t size) {
  throw Error(str(what, ": index ", index, " is out of range, expected one below ", size));
}

void append_part(std::string& s, long long v) { s += std::to_string(v); }
void append_part(std::string& s, unsigned long long v) { s += std::to_string(v); }

void append_part(std::string& s, double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  s += text;
}

void append_part(std::string& s, IntArrayRef v) {
  s += '[';
  for (size_t i = 0; i < v.size(); i++) {
    if (i) s += ", ";
    s += std::to_string(v[i]);
  }
  s += ']';
}

}  // namespace detail
}  // namespace cresset
