// Kernels driven by a mask: counting, coordinates, selection and filling.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "cresset/kernels/index/cpu/compress.h"
#include "cresset/kernels/index/index.h"

namespace cresset::kernels {

namespace {

// A walk in row-major order on the calling thread.
StridedWalk ordered_walk(IntArrayRef sizes, ArrayRef<Strided> operands) {
  StridedWalk walk(sizes);
  for (const Strided& a : operands) walk.add(a);
  for (size_t d = 0; d < sizes.size(); d++) walk.mark_ordered(static_cast<int64_t>(d));
  walk.plan(true);
  return walk;
}

void check_mask(const char* op, const Strided& self, const Strided& mask) {
  CRESSET_CHECK(mask.dtype == ScalarType::Bool || mask.dtype == ScalarType::Byte, op, ": expected a mask of dtype bool, got ", mask.dtype);
  CRESSET_CHECK(mask.sizes == self.sizes, op, ": expected mask and self broadcast to one shape, got ", mask.sizes, " and ", self.sizes);
}

// The bits of up to kMaskBlock elements of any stride.
class BitReader {
 public:
  explicit BitReader(ScalarType t) : dtype_(t), item_(static_cast<int64_t>(element_size(t))), kernel_(call(mask_bits_stub)) {}
  int64_t read(const char* x, int64_t stride, int64_t n) {
    if (stride == item_) return kernel_(dtype_, x, n, bits);
    visit_size(dtype_, [&](auto tag) {
      using T = decltype(tag);
      T* to = reinterpret_cast<T*>(packed_);
      for (int64_t i = 0; i < n; i++) to[i] = *reinterpret_cast<const T*>(x + i * stride);
    });
    return kernel_(dtype_, packed_, n, bits);
  }

  uint64_t bits[kMaskWords];

 private:
  ScalarType dtype_;
  int64_t item_;
  decltype(call(mask_bits_stub)) kernel_;
  alignas(16) char packed_[kMaskBlock * 16];
};

int64_t words_of(int64_t n) { return (n + 63) / 64; }

// Calls f(first, length) for blocks of a row.
template <class F> void for_blocks(int64_t n, F f) {
  for (int64_t b = 0; b < n; b += kMaskBlock) f(b, std::min(kMaskBlock, n - b));
}

template <class F> void for_each_bit(const uint64_t* bits, int64_t words, F f) {
  for (int64_t w = 0; w < words; w++)
    for (uint64_t rest = bits[w]; rest; rest &= rest - 1) f(64 * w + std::countr_zero(rest));
}

}  // namespace

int64_t count_nonzero(const Strided& x) {
  StridedWalk walk(x.sizes);
  walk.add(x);
  walk.plan();
  std::atomic<int64_t> count{0};
  walk.run(
      [&](char* const* p, const int64_t* s, int64_t n) {
        BitReader reader(x.dtype);
        int64_t c = 0;
        for_blocks(n, [&](int64_t b, int64_t length) { c += reader.read(p[0] + b * s[0], s[0], length); });
        count += c;
      },
      1 << 18);
  return count;
}

void nonzero(int64_t* out, int64_t total, const Strided& x) {
  const size_t dims = x.sizes.size();
  if (dims == 0) return;
  const auto positions = call(compress_positions_stub);
  BitReader reader(x.dtype);
  if (dims == 1) {
    const StridedWalk walk = ordered_walk(x.sizes, x);
    return walk.run([&](char* const* p, const int64_t* s, int64_t n) {
      for_blocks(n, [&](int64_t b, int64_t length) {
        const int64_t count = reader.read(p[0] + b * s[0], s[0], length);
        positions(reader.bits, words_of(length), b, out);
        out += count;
      });
    });
  }
  // One row of the last dimension after the other, many at a time where it is contiguous with the one before it.
  const StridedWalk walk = ordered_walk(x.sizes, x);
  DimVector at(dims, 0);  // coordinates of the row that holds the next element found
  const int64_t width = x.sizes[dims - 1];
  int64_t walked = 0, row_begin = 0, found[kMaskBlock];
  const auto next_row = [&] {
    row_begin += width;
    for (size_t d = dims - 1; d-- > 0;) {
      if (++at[d] < x.sizes[d]) return;
      at[d] = 0;
    }
  };
  const auto seek_row = [&](int64_t position) {
    int64_t row = position / width;
    row_begin = row * width;
    for (size_t d = dims - 1; d-- > 0; row /= x.sizes[d]) at[d] = row % x.sizes[d];
  };
  walk.run([&](char* const* p, const int64_t* s, int64_t n) {
    for_blocks(n, [&](int64_t b, int64_t length) {
      const int64_t count = reader.read(p[0] + b * s[0], s[0], length);
      positions(reader.bits, words_of(length), walked + b, found);
      for (int64_t i = 0; i < count;) {
        if (found[i] >= row_begin + 8 * width) seek_row(found[i]);
        while (found[i] >= row_begin + width) next_row();
        const int64_t row_end = row_begin + width;
        const int64_t first = i;
        int64_t* last = out + static_cast<int64_t>(dims - 1) * total;
        for (; i < count && found[i] < row_end; i++) *last++ = found[i] - row_begin;
        for (size_t d = 0; d + 1 < dims; d++) std::fill_n(out + static_cast<int64_t>(d) * total, i - first, at[d]);
        out += i - first;
      }
    });
    walked += n;
  });
}

void masked_select(void* out, const Strided& self, const Strided& mask) {
  check_mask("masked_select", self, mask);
  const StridedWalk walk = ordered_walk(self.sizes, {self, mask});
  const int64_t item = self.item();
  const auto compress = call(compress_elements_stub);
  char* to = static_cast<char*>(out);
  BitReader reader(mask.dtype);
  walk.run([&](char* const* p, const int64_t* s, int64_t n) {
    for_blocks(n, [&](int64_t b, int64_t length) {
      const int64_t count = reader.read(p[1] + b * s[1], s[1], length), words = words_of(length);
      const char* from = p[0] + b * s[0];
      if (s[0] == item) {
        compress(item, from, reader.bits, words, to);
      } else {
        visit_size(self.dtype, [&](auto tag) {
          using T = decltype(tag);
          T* next = reinterpret_cast<T*>(to);
          for_each_bit(reader.bits, words, [&](int64_t i) { *next++ = *reinterpret_cast<const T*>(from + i * s[0]); });
        });
      }
      to += count * item;
    });
  });
}

void masked_fill(const Strided& self, const Strided& mask, const Scalar& value) {
  check_mask("masked_fill", self, mask);
  const Bytes16 bytes = element_bytes(value, self.dtype);
  StridedWalk walk(self.sizes);
  walk.add(self);
  walk.add(mask);
  walk.plan();
  const auto fill = call(fill_masked_stub);
  const int64_t item = self.item();
  visit_size(self.dtype, [&](auto tag) {
    using T = decltype(tag);
    T v;
    std::memcpy(&v, &bytes, sizeof v);
    walk.run([=, &bytes](char* const* p, const int64_t* s, int64_t n) {
      if (s[0] == item && s[1] == 1) return fill(item, p[0], reinterpret_cast<const uint8_t*>(p[1]), &bytes, n);
      for (int64_t i = 0; i < n; i++)
        if (p[1][i * s[1]]) *reinterpret_cast<T*>(p[0] + i * s[0]) = v;
    });
  });
}

void masked_scatter(const Strided& self, const Strided& mask, const void* source, int64_t source_numel) {
  check_mask("masked_scatter", self, mask);
  const int64_t needed = count_nonzero(mask);
  CRESSET_CHECK(needed <= source_numel, "masked_scatter: expected at least an element of source for each true one of mask, got ", source_numel, " and ",
                needed);
  const StridedWalk walk = ordered_walk(self.sizes, {self, mask});
  const int64_t item = self.item();
  const auto expand = call(expand_elements_stub);
  const char* from = static_cast<const char*>(source);
  BitReader reader(mask.dtype);
  walk.run([&](char* const* p, const int64_t* s, int64_t n) {
    for_blocks(n, [&](int64_t b, int64_t length) {
      const int64_t count = reader.read(p[1] + b * s[1], s[1], length), words = words_of(length);
      char* to = p[0] + b * s[0];
      if (s[0] == item) {
        expand(item, from, reader.bits, words, to);
      } else {
        visit_size(self.dtype, [&](auto tag) {
          using T = decltype(tag);
          const T* next = reinterpret_cast<const T*>(from);
          for_each_bit(reader.bits, words, [&](int64_t i) { *reinterpret_cast<T*>(to + i * s[0]) = *next++; });
        });
      }
      from += count * item;
    });
  });
}

}  // namespace cresset::kernels
