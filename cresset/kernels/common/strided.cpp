#include "cresset/kernels/common/strided.h"

#include <cstring>

#include "cresset/base/parallel.h"
#include "cresset/kernels/layout/cpu/layout_rows.h"

namespace cresset::kernels {

Strided narrow(const Strided& a, int64_t dim, int64_t start, int64_t length, DimVector& sizes) {
  const size_t d = static_cast<size_t>(dim);
  sizes = a.sizes;
  sizes[d] = length;
  return Strided(static_cast<char*>(a.data) + start * a.strides[d] * a.item(), a.dtype, sizes, a.strides);
}

DimVector contiguous_strides(IntArrayRef sizes) {
  DimVector strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) strides[d] = step;
  return strides;
}

Bytes16 element_bytes(const Scalar& value, ScalarType t) {
  Bytes16 bytes{};
  visit_dtype(t, "fill", [&](auto tag) {
    const auto element = value.as<decltype(tag)>();
    std::memcpy(&bytes, &element, sizeof element);
  });
  return bytes;
}

void StridedWalk::add(const void* data, IntArrayRef strides, int64_t item) {
  data_.push_back(static_cast<char*>(const_cast<void*>(data)));
  SmallVector<int64_t, 6> bytes;
  for (int64_t s : strides) bytes.push_back(s * item);
  operand_strides_.push_back(std::move(bytes));
}

// The first operand that tells the two apart decides.
bool StridedWalk::belongs_inside(const Dim& outer, const Dim& inner) const {
  for (size_t i = 0; i < data_.size(); i++) {
    const int64_t a = outer.strides[i] < 0 ? -outer.strides[i] : outer.strides[i];
    const int64_t b = inner.strides[i] < 0 ? -inner.strides[i] : inner.strides[i];
    if (a == 0 || b == 0 || a == b) continue;
    return b < a;
  }
  return true;
}

bool StridedWalk::can_merge(const Dim& outer, const Dim& inner) const {
  if (outer.ordered != inner.ordered) return false;
  for (size_t i = 0; i < data_.size(); i++)
    if (outer.strides[i] != inner.strides[i] * inner.size) return false;
  return true;
}

void StridedWalk::plan(bool keep_order) {
  for (size_t d = 0; d < shape_.size(); d++) {
    total_ *= shape_[d];
    if (shape_[d] == 1) continue;
    Dim dim{shape_[d], ordered_[d], {}};
    for (size_t i = 0; i < data_.size(); i++) dim.strides.push_back(operand_strides_[i][d]);
    dims_.push_back(std::move(dim));
  }
  if (total_ == 0) return;
  for (size_t d = 1; d < dims_.size() && !keep_order; d++)
    for (size_t k = d; k > 0 && !(dims_[k - 1].ordered && dims_[k].ordered) && !belongs_inside(dims_[k - 1], dims_[k]); k--) std::swap(dims_[k - 1], dims_[k]);
  for (size_t d = dims_.size(); d-- > 1;) {
    if (!can_merge(dims_[d - 1], dims_[d])) continue;
    dims_[d].size *= dims_[d - 1].size;
    dims_.erase(dims_.begin() + (d - 1));
  }
  if (dims_.empty()) {
    Dim one{1, false, {}};
    one.strides.resize(data_.size(), 0);
    dims_.push_back(std::move(one));
  }
}

void StridedWalk::run(Row row, int64_t grain) const {
  const size_t operands = data_.size();
  run_tables(
      [&](char* const* p, const int64_t* s, int64_t n, const int64_t* step, int64_t rows) {
        SmallVector<char*, 6> at(p, p + operands);
        for (int64_t r = 0; r < rows; r++) {
          row(at.data(), s, n);
          for (size_t i = 0; i < operands; i++) at[i] += step[i];
        }
      },
      grain);
}

void StridedWalk::run_tables(Table table, int64_t grain) const {
  if (total_ == 0) return;
  // The outermost dimension that may be split and gives every thread something to do, else the longest.
  size_t split = dims_.size();
  for (size_t d = 0; d < dims_.size(); d++) {
    if (dims_[d].ordered) continue;
    if (split == dims_.size() || dims_[d].size > dims_[split].size) split = d;
    if (dims_[split].size >= 4 * get_num_threads()) break;
  }
  if (split == dims_.size() || total_ <= grain) return run_part(table, 0, 0, dims_[0].size);
  const int64_t per_index = total_ / dims_[split].size;
  parallel_for(0, dims_[split].size, (grain + per_index - 1) / per_index, [&](int64_t begin, int64_t end) { run_part(table, split, begin, end); });
}

void StridedWalk::run_part(Table table, size_t split, int64_t begin, int64_t end) const {
  const size_t operands = data_.size(), last = dims_.size() - 1, outer = last == 0 ? 0 : last - 1;
  SmallVector<char*, 6> at(data_);
  for (size_t i = 0; i < operands; i++) at[i] += begin * dims_[split].strides[i];
  SmallVector<int64_t, 6> sizes, index(outer, 0);
  for (const Dim& d : dims_) sizes.push_back(d.size);
  sizes[split] = end - begin;
  const int64_t* strides = dims_[last].strides.data();
  const int64_t* row_steps = last == 0 ? strides : dims_[outer].strides.data();
  const int64_t rows = last == 0 ? 1 : sizes[outer];
  for (;;) {
    table(at.data(), strides, sizes[last], row_steps, rows);
    size_t d = outer;
    for (;;) {
      if (d == 0) return;
      d--;
      const int64_t* step = dims_[d].strides.data();
      if (++index[d] < sizes[d]) {
        for (size_t i = 0; i < operands; i++) at[i] += step[i];
        break;
      }
      index[d] = 0;
      for (size_t i = 0; i < operands; i++) at[i] -= (sizes[d] - 1) * step[i];
    }
  }
}

void copy_strided(const Strided& to, const Strided& from) {
  StridedWalk walk(to.sizes);
  walk.add(to);
  walk.add(from);
  walk.plan();
  const auto kernel = call(copy_table_stub);
  const int64_t item = to.item();
  walk.run_tables([=](char* const* p, const int64_t* s, int64_t n, const int64_t* row, int64_t rows) {
    kernel(item, {p[0], p[1], s[0], s[1], row[0], row[1], n, rows});
  });
}

void fill_strided(const Strided& to, const Scalar& value) {
  const Bytes16 bytes = element_bytes(value, to.dtype);
  const char* from = reinterpret_cast<const char*>(&bytes);
  StridedWalk walk(to.sizes);
  walk.add(to);
  walk.plan();
  const auto kernel = call(fill_table_stub);
  const int64_t item = to.item();
  walk.run_tables([=](char* const* p, const int64_t* s, int64_t n, const int64_t* row, int64_t rows) {
    kernel(item, {p[0], from, s[0], 0, row[0], 0, n, rows});
  });
}

}  // namespace cresset::kernels
