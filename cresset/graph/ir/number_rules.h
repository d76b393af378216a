#pragma once
// Comparisons of two numbers, for the table of builtins and for the steps of the runtime that go around it.

namespace cresset::graph::number_rules {

struct Eq {
  template <class T> static bool of(T a, T b) { return a == b; }
};
struct Ne {
  template <class T> static bool of(T a, T b) { return a != b; }
};
struct Lt {
  template <class T> static bool of(T a, T b) { return a < b; }
};
struct Le {
  template <class T> static bool of(T a, T b) { return a <= b; }
};
struct Gt {
  template <class T> static bool of(T a, T b) { return a > b; }
};
struct Ge {
  template <class T> static bool of(T a, T b) { return a >= b; }
};

}  // namespace cresset::graph::number_rules
