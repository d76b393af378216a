#include "cresset/kernels/linalg/distance.h"

#include <algorithm>
#include <memory>

#include "cresset/base/parallel.h"
#include "cresset/kernels/linalg/cpu/distance_rows.h"

namespace cresset::kernels {

namespace {

const char* at(const void* p, int64_t elements, int64_t item) { return static_cast<const char*>(p) + elements * item; }
char* at(void* p, int64_t elements, int64_t item) { return static_cast<char*>(p) + elements * item; }

// Rows that a thread takes at least.
int64_t grain_of(int64_t work_of_a_row) { return std::max<int64_t>(1, (int64_t{1} << 15) / std::max<int64_t>(1, work_of_a_row)); }

}  // namespace

void distances(const DistanceArgs& args, void* out) {
  const auto item = static_cast<int64_t>(element_size(args.dtype));
  const int64_t blocks = (args.rows2 + kDistanceColumns - 1) / kDistanceColumns;
  parallel_for(0, args.batches * blocks, grain_of(args.rows1 * kDistanceColumns * args.columns), [&](int64_t begin, int64_t end) {
    const std::unique_ptr<char[]> packed(new char[std::max<int64_t>(1, args.columns) * kDistanceColumns * item]);
    for (int64_t i = begin; i < end; i++) {
      const int64_t b = i / blocks, j = i % blocks * kDistanceColumns;
      call(distance_block_stub)({args.dtype, at(args.x1, b * args.batch1, item), at(args.x2, b * args.batch2 + j * args.columns, item), args.rows1,
                                 std::min(kDistanceColumns, args.rows2 - j), args.columns, args.p, packed.get(), at(out, b * args.rows1 * args.rows2 + j, item),
                                 args.rows2});
    }
  });
}

void distances_backward(const DistanceGradArgs& args, void* out) {
  const DistanceArgs& of = args.of;
  const auto item = static_cast<int64_t>(element_size(of.dtype));
  parallel_for(0, of.batches * of.rows1, grain_of(of.rows2 * of.columns), [&](int64_t begin, int64_t end) {
    const std::unique_ptr<char[]> weights(new char[std::max<int64_t>(1, of.rows2) * item * 2]);
    for (int64_t r = begin, rows; r < end; r += rows) {
      const int64_t b = r / of.rows1, i = r % of.rows1;
      rows = i + 2 <= of.rows1 && r + 2 <= end ? 2 : 1;
      std::copy_n(at(args.grad, r * of.rows2, item), rows * of.rows2 * item, weights.get());
      call(distance_grad_row_stub)({of.dtype, at(of.x1, b * of.batch1 + i * of.columns, item), at(of.x2, b * of.batch2, item), rows, of.rows2, of.columns, of.p,
                                    weights.get(), at(args.distance, r * of.rows2, item), at(out, r * of.columns, item)});
    }
  });
}

namespace {

// Where the pairs (i, i + 1), ... start.
int64_t first_pair(int64_t i, int64_t rows) { return i * (2 * rows - i - 1) / 2; }

// A float or a double.
void copy_one(const char* from, int64_t item, char* to) {
  if (item == 4) __builtin_memcpy(to, from, 4);
  else __builtin_memcpy(to, from, 8);
}

}  // namespace

void pair_distances(ScalarType dtype, const void* x, int64_t rows, int64_t columns, double p, void* out) {
  const auto item = static_cast<int64_t>(element_size(dtype));
  const int64_t blocks = (rows + kDistanceColumns - 1) / kDistanceColumns;
  parallel_for(0, blocks, grain_of(rows / 2 * kDistanceColumns * columns), [&](int64_t begin, int64_t end) {
    const std::unique_ptr<char[]> packed(new char[std::max<int64_t>(1, columns) * kDistanceColumns * item]), all(new char[rows * kDistanceColumns * item]);
    for (int64_t block = begin; block < end; block++) {
      const int64_t j = block * kDistanceColumns, count = std::min(kDistanceColumns, rows - j);
      call(distance_block_stub)({dtype, x, at(x, j * columns, item), j + count, count, columns, p, packed.get(), all.get(), kDistanceColumns});
      for (int64_t i = 0; i < j + count; i++) {
        const int64_t from = std::max(j, i + 1);
        if (from < j + count)
          std::copy_n(all.get() + (i * kDistanceColumns + from - j) * item, (j + count - from) * item, at(out, first_pair(i, rows) + from - i - 1, item));
      }
    }
  });
}

void pair_distances_backward(ScalarType dtype, const void* x, const void* grad, const void* distance, int64_t rows, int64_t columns, double p, void* out) {
  const auto item = static_cast<int64_t>(element_size(dtype));
  parallel_for(0, rows, grain_of(rows * columns), [&](int64_t begin, int64_t end) {
    const std::unique_ptr<char[]> weights(new char[rows * item * 2]);
    char* row_distance = weights.get() + rows * item;
    for (int64_t i = begin; i < end; i++) {
      for (int64_t j = 0; j < rows; j++) {
        const int64_t pair = first_pair(std::min(i, j), rows) + std::max(i, j) - std::min(i, j) - 1;
        // A row's distance from itself has no gradient.
        if (j == i) {
          std::fill_n(weights.get() + j * item, item, char{0});
          std::fill_n(row_distance + j * item, item, char{0});
          continue;
        }
        copy_one(at(grad, pair, item), item, weights.get() + j * item);
        copy_one(at(distance, pair, item), item, row_distance + j * item);
      }
      call(distance_grad_row_stub)({dtype, at(x, i * columns, item), x, 1, rows, columns, p, weights.get(), row_distance, at(out, i * columns, item)});
    }
  });
}

}  // namespace cresset::kernels
