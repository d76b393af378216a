#include "cresset/kernels/layout/copy.h"

#include "cresset/base/numbers/float8.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/iter/walk.h"
#include "cresset/kernels/layout/cpu/convert.h"
#include "cresset/kernels/layout/cpu/layout_rows.h"
#include "cresset/kernels/layout/cpu/stream.h"
#include "cresset/kernels/layout/cpu/transpose.h"

namespace cresset::kernels {

namespace {

constexpr int64_t kGrain = 32768;

void copy_bytes(char* dst, const char* src, int64_t bytes) {
  const bool streams = bytes >= stream_threshold();
  const auto stream = call(stream_copy_stub);
  // Whole cache lines per chunk keep two threads off one line.
  parallel_for(0, (bytes + 63) / 64, 4096, [&](int64_t begin, int64_t end) {
    const int64_t from = begin * 64, count = std::min(end * 64, bytes) - from;
    if (streams) {
      stream(dst + from, src + from, count);
      stream_fence();
    } else {
      __builtin_memcpy(dst + from, src + from, static_cast<size_t>(count));
    }
  });
}

// The dimension along which the source is dense while the destination is dense along dimension 0, or 0.
int transposed_dim(const Walk& w, int64_t dst_size, int64_t src_size) {
  if (w.strides[0][0] != dst_size || w.strides[0][1] == src_size || w.strides[0][1] == 0 || w.sizes[0] < 4) return 0;
  for (int d = 1; d < w.dims; d++)
    if (w.strides[d][1] == src_size && w.sizes[d] >= 4) return d;
  return 0;
}

// Dimension 1 is the source's dense one: planes of dimensions 0 and 1, cut into bands of dimension 1.
void copy_transposed(const Walk& w, ScalarType dst_dtype, ScalarType src_dtype) {
  const auto size = static_cast<int64_t>(element_size(dst_dtype));
  const Convert convert = src_dtype == dst_dtype ? nullptr : converter(src_dtype, dst_dtype);
  const bool streams = w.total * size >= stream_threshold();
  const auto transpose = call(transpose_stub);
  // Within the caches a band as wide as a line reads each line once, so that rows a power of two apart do not evict each other's.
  constexpr int64_t kBand = 64;
  const int64_t width = streams || convert ? kBand : std::max<int64_t>(16, 64 / size), bands = (w.sizes[1] + width - 1) / width;
  const int64_t plane = w.sizes[0] * w.sizes[1];
  parallel_for(0, w.total / plane * bands, std::max<int64_t>(1, kGrain / (w.sizes[0] * width)), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; task++) {
      const int64_t first = task % bands * width;
      int64_t rest = task / bands;
      char* dst = w.data[0] + first * w.strides[1][0];
      const char* src = w.data[1] + first * w.strides[1][1];
      for (int d = 2; d < w.dims; d++) {
        dst += rest % w.sizes[d] * w.strides[d][0];
        src += rest % w.sizes[d] * w.strides[d][1];
        rest /= w.sizes[d];
      }
      const int64_t rows = std::min(width, w.sizes[1] - first);
      if (!convert) {
        transpose(dst, w.strides[1][0], src, w.strides[0][1], rows, w.sizes[0], size, streams);
        continue;
      }
      alignas(64) char tile[kBand * kBand * 16];
      for (int64_t column = 0; column < w.sizes[0]; column += kBand) {
        const int64_t columns = std::min(kBand, w.sizes[0] - column);
        for (int64_t c = 0; c < columns; c++) convert(tile + c * kBand * size, size, src + (column + c) * w.strides[0][1], w.strides[1][1], rows);
        transpose(dst + column * size, w.strides[1][0], tile, kBand * size, rows, columns, size, false);
      }
    }
    if (streams) stream_fence();
  });
}

// Rows that are dense on both sides, table by table: a call for every row would cost more than a short row itself.
void copy_dense_rows(const Walk& w, int64_t size) {
  Walk rows;
  rows.dims = w.dims - 1;
  rows.operands = w.operands;
  rows.total = w.total / w.sizes[0];
  std::copy_n(w.data, w.operands, rows.data);
  for (int d = 0; d < rows.dims; d++) {
    rows.sizes[d] = w.sizes[d + 1];
    std::copy_n(w.strides[d + 1], w.operands, rows.strides[d]);
  }
  const int64_t bytes = w.sizes[0] * size, to = rows.strides[0][0], from = rows.strides[0][1];
  const bool streams = w.total * size >= stream_threshold() && bytes >= 1024;
  const auto copy = call(copy_table_stub);
  const auto stream = call(stream_copy_stub);
  parallel_for(0, rows.total, std::max<int64_t>(1, kGrain / w.sizes[0]), [&](int64_t begin, int64_t end) {
    rows.range(begin, end, [&](char** at, int64_t n) {
      if (!streams) return copy(size, {at[0], at[1], size, size, to, from, w.sizes[0], n});
      for (int64_t r = 0; r < n; r++) stream(at[0] + r * to, at[1] + r * from, bytes);
    });
    if (streams) stream_fence();
  });
}

// A large dense destination: converted block by block, then streamed.
void copy_streaming(const Walk& w, int64_t size, Convert convert) {
  constexpr int64_t kBlockBytes = 1024;  // smaller than caches: loads and streamed stores overlap
  const int64_t block = kBlockBytes / size;
  const auto stream = call(stream_copy_stub);
  parallel_for(0, w.total, kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) char buffer[kBlockBytes];
    w.range(begin, end, [&](char** at, int64_t n) {
      for (int64_t done = 0; done < n; done += block) {
        const int64_t count = std::min(block, n - done);
        convert(buffer, size, at[1] + done * w.strides[0][1], w.strides[0][1], count);
        stream(at[0] + done * size, buffer, count * size);
      }
    });
    stream_fence();
  });
}

// From the stored dtype `t` to the one that it computes in, and back.
void widen(ScalarType t, char* dst, const char* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; i++, src += src_stride) {
    if (t == ScalarType::ComplexHalf) {
      Half parts[2];
      __builtin_memcpy(parts, src, sizeof parts);
      reinterpret_cast<complex<float>*>(dst)[i] = {parts[0], parts[1]};
    } else {
      reinterpret_cast<float*>(dst)[i] = float8_to_float(static_cast<uint8_t>(*src), t);
    }
  }
}

void narrow(ScalarType t, char* dst, int64_t dst_stride, const char* src, int64_t n) {
  for (int64_t i = 0; i < n; i++, dst += dst_stride) {
    if (t == ScalarType::ComplexHalf) {
      const complex<float> value = reinterpret_cast<const complex<float>*>(src)[i];
      const Half parts[2] = {value.real(), value.imag()};
      __builtin_memcpy(dst, parts, sizeof parts);
    } else {
      *dst = static_cast<char>(float_to_float8(reinterpret_cast<const float*>(src)[i], t));
    }
  }
}

// Between dtypes of which one is only stored: in blocks, through the dtypes that they compute in.
void copy_stored(const Walk& w, ScalarType to, ScalarType from) {
  constexpr int64_t kBlock = 256;
  const ScalarType wide_from = compute_type(from), wide_to = compute_type(to);
  const auto from_size = static_cast<int64_t>(element_size(wide_from)), to_size = static_cast<int64_t>(element_size(wide_to));
  const Convert convert = converter(wide_from, wide_to);
  parallel_for(0, w.total, kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) char read[kBlock * 16], written[kBlock * 16];
    w.range(begin, end, [&](char** at, int64_t n) {
      const int64_t dst_stride = w.strides[0][0], src_stride = w.strides[0][1];
      for (int64_t done = 0; done < n; done += kBlock) {
        const int64_t count = std::min(kBlock, n - done);
        const char* source = at[1] + done * src_stride;
        int64_t step = src_stride;
        if (from != wide_from) {
          widen(from, read, source, src_stride, count);
          source = read;
          step = from_size;
        }
        char* target = at[0] + done * dst_stride;
        if (to == wide_to) {
          convert(target, dst_stride, source, step, count);
        } else {
          convert(written, to_size, source, step, count);
          narrow(to, target, dst_stride, written, count);
        }
      }
    });
  });
}

}  // namespace

void copy_strided(IntArrayRef shape, Operand dst, Operand src) {
  Walk w;
  const Operand operands[] = {dst, src};
  w.prepare(shape, operands);
  if (w.total == 0) return;
  const auto dst_size = static_cast<int64_t>(element_size(dst.dtype)), src_size = static_cast<int64_t>(element_size(src.dtype));
  const bool same = dst.dtype == src.dtype;
  if (same && w.dims == 1 && w.strides[0][0] == dst_size && w.strides[0][1] == src_size) {
    if (w.total * dst_size < kGrain) return void(__builtin_memcpy(dst.data, src.data, static_cast<size_t>(w.total * dst_size)));
    return copy_bytes(dst.data, src.data, w.total * dst_size);
  }
  if (!same && (is_storage_type(dst.dtype) || is_storage_type(src.dtype))) return copy_stored(w, dst.dtype, src.dtype);
  if (const int d = transposed_dim(w, dst_size, src_size)) {
    w.swap_dims(1, d);
    return copy_transposed(w, dst.dtype, src.dtype);
  }
  w.avoid_short_rows();
  if (same && w.dims > 1 && w.strides[0][0] == dst_size && w.strides[0][1] == dst_size) return copy_dense_rows(w, dst_size);
  const Convert convert = converter(src.dtype, dst.dtype);
  if (w.total * dst_size >= stream_threshold() && w.strides[0][0] == dst_size && w.sizes[0] >= 1024) return copy_streaming(w, dst_size, convert);
  parallel_for(0, w.total, kGrain, [&](int64_t begin, int64_t end) {
    w.range(begin, end, [&](char** at, int64_t n) { convert(at[0], w.strides[0][0], at[1], w.strides[0][1], n); });
  });
}

}  // namespace cresset::kernels
