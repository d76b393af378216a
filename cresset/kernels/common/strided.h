#pragma once
// An array as the indexing, sorting and layout kernels see it, and the walk over several of them.

#include "cresset/base/array_ref.h"
#include "cresset/base/dtype.h"
#include "cresset/base/error.h"
#include "cresset/base/function_ref.h"
#include "cresset/base/scalar.h"
#include "cresset/base/small_vector.h"

namespace cresset::kernels {

// One array. Sizes and strides are those of a tensor: outermost first, strides in elements, 0 where broadcast.
struct Strided {
  void* data = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  IntArrayRef sizes, strides;

  Strided() = default;
  Strided(const void* p, ScalarType t, IntArrayRef shape, IntArrayRef steps) : data(const_cast<void*>(p)), dtype(t), sizes(shape), strides(steps) {}

  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
  }
  int64_t item() const { return static_cast<int64_t>(element_size(dtype)); }
  bool defined() const { return dtype != ScalarType::Undefined; }
  bool is_contiguous() const {
    int64_t expected = 1;
    for (size_t d = sizes.size(); d-- > 0; expected *= sizes[d])
      if (sizes[d] != 1 && strides[d] != expected) return numel() == 0;
    return true;
  }
};

// Part [start, start + length) of dimension dim. `sizes` is storage for the result's sizes and must outlive it.
Strided narrow(const Strided& a, int64_t dim, int64_t start, int64_t length, DimVector& sizes);
// Row-major strides of a shape.
DimVector contiguous_strides(IntArrayRef sizes);

// Sixteen bytes that are only moved.
struct alignas(16) Bytes16 {
  uint64_t part[2];
};

// Calls f with an object of the unsigned type that has the dtype's size: for kernels that only move elements.
template <class F> decltype(auto) visit_size(ScalarType t, F&& f) {
  switch (element_size(t)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Bytes16{});
  }
}

// Calls f with an object of the dtype's C++ type.
template <class F> decltype(auto) visit_dtype(ScalarType t, const char* op, F&& f) {
  switch (t) {
#define CRESSET_CASE(T, Name) \
  case ScalarType::Name: return f(T{});
    CRESSET_FOR_EACH_DTYPE(CRESSET_CASE)
#undef CRESSET_CASE
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, op, ": not implemented for ", t); __builtin_unreachable();
  }
}

// Calls f with an object of the index type.
template <class F> decltype(auto) visit_index(ScalarType t, const char* op, F&& f) {
  if (t == ScalarType::Int) return f(int32_t{});
  CRESSET_CHECK_INDEX(t == ScalarType::Long, op, ": expected an index of dtype int64 or int32, got ", t);
  return f(int64_t{});
}

// The bytes of one element that holds `value` in dtype `t`.
Bytes16 element_bytes(const Scalar& value, ScalarType t);

// A walk over operands of one shape by rows along one dimension. Dimensions are ordered for memory and merged where possible;
// those marked `ordered` keep their relative order and are never split over threads, which is what a kernel needs whose writes
// along them may meet.
class StridedWalk {
 public:
  // Gets the operands' first elements of the row, the byte strides along it, and its length.
  using Row = FunctionRef<void(char* const*, const int64_t*, int64_t)>;
  // Gets a table of rows: as Row, and the byte strides from row to row and their number.
  using Table = FunctionRef<void(char* const*, const int64_t*, int64_t, const int64_t*, int64_t)>;

  explicit StridedWalk(IntArrayRef sizes) : shape_(sizes), ordered_(sizes.size(), false) {}
  // Strides in elements of `item` bytes, one for each dimension. Earlier operands decide the order of the loops.
  void add(const void* data, IntArrayRef strides, int64_t item);
  void add(const Strided& a) { add(a.data, a.strides, a.item()); }
  void mark_ordered(int64_t dim) { ordered_[static_cast<size_t>(dim)] = true; }
  // Must precede `run`. Keeping the order gives a walk in row-major order.
  void plan(bool keep_order = false);
  // Calls `row` for all rows, on several threads if the walk has at least 2 * grain elements.
  void run(Row row, int64_t grain = 32768) const;
  // The same by tables, for kernels whose rows are short.
  void run_tables(Table table, int64_t grain = 32768) const;
  int64_t numel() const { return total_; }
  int64_t row_length() const { return dims_.empty() ? 1 : dims_.back().size; }

 private:
  struct Dim {
    int64_t size;
    bool ordered;
    SmallVector<int64_t, 6> strides;  // bytes, one for each operand
  };
  bool belongs_inside(const Dim& outer, const Dim& inner) const;
  bool can_merge(const Dim& outer, const Dim& inner) const;
  void run_part(Table table, size_t split, int64_t begin, int64_t end) const;

  IntArrayRef shape_;
  SmallVector<bool, 8> ordered_;
  SmallVector<char*, 6> data_;
  SmallVector<SmallVector<int64_t, 6>, 6> operand_strides_;
  SmallVector<Dim, 6> dims_;  // outermost first
  int64_t total_ = 1;
};

// Copies between arrays of one shape and one dtype.
void copy_strided(const Strided& to, const Strided& from);
// Writes one element everywhere.
void fill_strided(const Strided& to, const Scalar& value);

}  // namespace cresset::kernels
