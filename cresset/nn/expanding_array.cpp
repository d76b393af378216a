#include "cresset/nn/expanding_array.h"

#include <ostream>

namespace cresset::detail {

namespace {

template <class T, class Print>
void print(std::ostream& stream, ArrayRef<T> values, Print one) {
  stream << "[";
  for (size_t i = 0; i < values.size(); i++) {
    if (i) stream << ", ";
    one(values[i]);
  }
  stream << "]";
}

}  // namespace

void expanding_array_size_error(size_t expected, size_t got) {
  throw_error<Error>(cresset::str("option: expected ", expected, " values, got ", got));
}
void print_list(std::ostream& stream, IntArrayRef values) {
  print(stream, values, [&](int64_t v) { stream << v; });
}
void print_list(std::ostream& stream, ArrayRef<double> values) {
  print(stream, values, [&](double v) { stream << v; });
}
void print_list(std::ostream& stream, ArrayRef<std::optional<int64_t>> values) {
  print(stream, values, [&](const std::optional<int64_t>& v) {
    if (v) stream << *v;
    else stream << "None";
  });
}

}  // namespace cresset::detail
