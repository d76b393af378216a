#include "cresset/base/error.h"

#include <cstdio>

namespace cresset::detail {

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

}  // namespace cresset::detail
