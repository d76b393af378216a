#pragma once
// Shared by the builtins: reading numbers, writing results, Python's text of values.

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/graph/script/unit.h"
#include "cresset/transform/autocast.h"

namespace cresset::graph::script {

using Inputs = const Datum* const*;

inline int64_t as_int(const Datum& v) {
  if (const auto* i = std::get_if<int64_t>(&v.data())) return *i;
  if (const auto* b = std::get_if<bool>(&v.data())) return *b;
  return v.to_int();
}
inline double as_float(const Datum& v) {
  if (const auto* d = std::get_if<double>(&v.data())) return *d;
  if (const auto* i = std::get_if<int64_t>(&v.data())) return static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&v.data())) return *b;
  return v.to_double();
}
inline complex<double> as_complex(const Datum& v) { return v.isComplexDouble() ? v.toComplexDouble() : complex<double>(as_float(v), 0); }
inline void put(Datum& out, int64_t v) {
  if (auto* at = std::get_if<int64_t>(&out.data())) *at = v;
  else out = Datum(v);
}
inline void put(Datum& out, double v) {
  if (auto* at = std::get_if<double>(&out.data())) *at = v;
  else out = Datum(v);
}
inline void put(Datum& out, bool v) {
  if (auto* at = std::get_if<bool>(&out.data())) *at = v;
  else out = Datum(v);
}
inline void put(Datum& out, complex<double> v) { out = Datum(v); }
inline void put(Datum& out, std::string v) { out = Datum(std::move(v)); }

// As Python's str and repr print values.
std::string python_str(const Datum& value);
std::string python_repr(const Datum& value);
// Python's order of two values of one type.
bool less(const Datum& a, const Datum& b);
// dtypes and layouts are the ints that they are in archives.
bool same(const Datum& a, const Datum& b);

// Objects of the with statements that this thread is in, the innermost last: their __exit__ runs when an exception leaves the program.
struct Entered {
  Datum object;
  std::shared_ptr<autocast> region;  // of an object that stands for one
};
std::vector<Entered>& entered_objects();

// Characters of UTF-8 text.
std::vector<std::string> letters(const std::string& s);
// [start, stop) in steps within n elements, as Python's slices.
struct SliceRange {
  int64_t start, stop, step;
  std::vector<size_t> places() const;
};
SliceRange slice_of(const Datum& start, const Datum& stop, const Datum& step, int64_t n);

}  // namespace cresset::graph::script
