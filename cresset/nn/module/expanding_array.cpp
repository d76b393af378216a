#include "cresset/nn/module/expanding_array.h"

#include <ostream>

namespace cresset::detail {

namespace {

void print_one(std::ostream& stream, int64_t value) { stream << value; }
void print_one(std::ostream& stream, double value) { stream << value; }
void print_one(std::ostream& stream, const std::optional<int64_t>& value) {
  if (value) stream << *value;
  else stream << "None";
}

template <class T> void print(std::ostream& stream, ArrayRef<T> values) {
  stream << "[";
  for (size_t i = 0; i < values.size(); i++) {
    if (i) stream << ", ";
    print_one(stream, values[i]);
  }
  stream << "]";
}

template <class T> void print_bare(std::ostream& stream, ArrayRef<T> values) {
  if (values.size() == 1) print_one(stream, values[0]);
  else print(stream, values);
}

}  // namespace

void expanding_array_size_error(size_t expected, size_t got) { throw_error<Error>(cresset::str("Expected ", expected, " values, but instead got ", got)); }
void print_list(std::ostream& stream, IntArrayRef values) { print(stream, values); }
void print_list(std::ostream& stream, ArrayRef<double> values) { print(stream, values); }
void print_expanded(std::ostream& stream, IntArrayRef values) { print_bare(stream, values); }
void print_expanded(std::ostream& stream, ArrayRef<double> values) { print_bare(stream, values); }
void print_expanded(std::ostream& stream, ArrayRef<std::optional<int64_t>> values) { print_bare(stream, values); }

}  // namespace cresset::detail
