#include "cresset/kernels/fft/fft.h"

#include <algorithm>
#include <memory>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/base/small_vector.h"
#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/fft/cpu/fft.h"

namespace cresset::kernels {

namespace {

// Rows of vectors stay in the caches up to here; beyond, rows are transformed one by one.
constexpr int64_t kMaxLaneLength = 192;
constexpr int64_t kParallelElements = 32768;
constexpr int64_t kGathered = 8;  // rows that are gathered together, for neighbours share cache lines
constexpr int kMaxLanes = 16;

enum class Work : int { transform, row, group, count };

// Memory of this thread that is kept between calls; users of different names may be active at once.
struct WorkMemory {
  std::unique_ptr<AlignedBuffer<char>> buffers[static_cast<int>(Work::count)];
  int64_t sizes[static_cast<int>(Work::count)] = {};
};

template <class T> T* work_memory(Work user, int64_t count) {
  auto& [buffers, sizes] = thread_work<WorkMemory>();
  const int i = static_cast<int>(user);
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  if (sizes[i] < bytes) {
    sizes[i] = 0;
    buffers[i] = nullptr;
    buffers[i] = std::make_unique<AlignedBuffer<char>>(bytes + bytes / 4);
    sizes[i] = bytes + bytes / 4;
  }
  return reinterpret_cast<T*>(buffers[i]->data);
}

// The rows of two arrays along dim, in the first one's order of memory. Offsets count elements.
class RowPairs {
 public:
  RowPairs(const Strided& in, const Strided& out, int64_t dim) {
    for (int64_t d = 0; d < in.dim(); d++)
      if (d != dim && in.sizes[d] != 1) axes_.push_back({in.sizes[d], in.strides[d], out.strides[d]});
    std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.in > b.in; });
    for (const Axis& a : axes_) count_ *= a.size;
  }
  int64_t count() const { return count_; }
  void offsets(int64_t first, int64_t number, int64_t* in, int64_t* out) const {
    SmallVector<int64_t, 8> at(axes_.size());
    int64_t x = 0, y = 0;
    for (size_t d = axes_.size(); d-- > 0; first /= axes_[d].size) {
      at[d] = first % axes_[d].size;
      x += at[d] * axes_[d].in;
      y += at[d] * axes_[d].out;
    }
    for (int64_t i = 0; i < number; i++) {
      in[i] = x, out[i] = y;
      for (size_t d = axes_.size(); d-- > 0;) {
        const Axis& a = axes_[d];
        x += a.in, y += a.out;
        if (++at[d] < a.size) break;
        at[d] = 0, x -= a.size * a.in, y -= a.size * a.out;
      }
    }
  }

 private:
  struct Axis {
    int64_t size, in, out;
  };
  SmallVector<Axis, 8> axes_;
  int64_t count_ = 1;
};

// A one-dimensional transform of all rows of an array.
template <class T> struct Transform {
  FftKind kind;
  const T* in;
  T* out;
  int64_t n, in_step, out_step;
  T scale;
  bool inverse;

  bool halves() const { return kind != FftKind::c2c && n % 2 == 0; }
  int64_t points() const { return halves() ? n / 2 : n; }
  int64_t in_length() const { return kind == FftKind::c2r ? n / 2 + 1 : n; }
  int64_t out_length() const { return kind == FftKind::r2c ? n / 2 + 1 : n; }
  int in_unit() const { return kind == FftKind::r2c ? 1 : 2; }
  int out_unit() const { return kind == FftKind::c2r ? 1 : 2; }
};

template <class T> void by_lanes(const Transform<T>& t, const RowPairs& rows, int lanes) {
  const auto plan = fft_lane_plan<T>(t.points());
  const auto table = t.halves() ? fft_real_table<T>(t.n) : nullptr;
  const int64_t groups = (rows.count() + lanes - 1) / lanes;
  parallel_for(0, groups, std::max<int64_t>(1, kParallelElements / (t.n * lanes)), [&](int64_t begin, int64_t end) {
    T* scratch = work_memory<T>(Work::transform, 2 * (t.n + 2) * 2 * lanes);
    int64_t in_offsets[kMaxLanes], out_offsets[kMaxLanes];
    for (int64_t g = begin; g < end; g++) {
      const int64_t first = g * lanes;
      const int count = static_cast<int>(std::min<int64_t>(lanes, rows.count() - first));
      rows.offsets(first, count, in_offsets, out_offsets);
      fft_lane_rows_of<T>()({t.kind, t.n, t.in, t.out, in_offsets, out_offsets, t.in_step, t.out_step, count, t.scale, t.inverse, plan.get(),
                             table ? table->roots.data() : nullptr},
                            scratch);
    }
  });
}

// One row whose elements are contiguous. work: for the plan.
template <class T> void contiguous_row(const Transform<T>& t, const FftRowPlan<T>& plan, const FftRealTable<T>* table, const T* in, T* out, T* work, T* full) {
  const int64_t n = t.n, h = n / 2;
  if (t.kind == FftKind::c2c) return fft_row_of<T>()(plan, in, out, t.scale, t.inverse, work);
  if (t.halves()) {
    if (t.kind == FftKind::r2c) {
      fft_row_of<T>()(plan, in, out, T(1), false, work);
      return fft_untangle_of<T>()(out, out, h, table->roots.data(), t.scale);
    }
    fft_tangle_of<T>()(in, out, h, table->roots.data(), t.scale);
    return fft_row_of<T>()(plan, out, out, T(1), true, work);
  }
  if (t.kind == FftKind::r2c) {
    for (int64_t k = 0; k < n; k++) full[2 * k] = in[k], full[2 * k + 1] = 0;
    fft_row_of<T>()(plan, full, full, t.scale, false, work);
    std::copy(full, full + 2 * (h + 1), out);
  } else {
    full[0] = in[0], full[1] = 0;
    for (int64_t k = 1; k <= h; k++) {
      full[2 * k] = full[2 * (n - k)] = in[2 * k];
      full[2 * k + 1] = in[2 * k + 1];
      full[2 * (n - k) + 1] = -in[2 * k + 1];
    }
    fft_row_of<T>()(plan, full, full, t.scale, true, work);
    for (int64_t k = 0; k < n; k++) out[k] = full[2 * k];
  }
}

// One large row on all threads.
template <class T> void parallel_row(const FftRowPlan<T>& plan, const T* in, T* out, T scale, bool inverse) {
  T* middle = work_memory<T>(Work::transform, plan.middle_size());
  const auto scratch = [&] { return work_memory<T>(Work::group, plan.scratch_size()); };
  const int64_t columns = std::max<int64_t>(1, kParallelElements / (plan.n1 * plan.lanes)),
                rows = std::max<int64_t>(1, kParallelElements / (plan.n2 * plan.lanes));
  parallel_for(0, plan.column_groups(), columns, [&](int64_t b, int64_t e) { fft_columns_of<T>()(plan, in, middle, inverse, b, e, scratch()); });
  parallel_for(0, plan.row_groups(), rows, [&](int64_t b, int64_t e) { fft_rows_of<T>()(plan, middle, out, scale, inverse, b, e, scratch()); });
}

template <class T, int unit> void gather(const T* in, const int64_t* offsets, int64_t step, int64_t count, int64_t length, T* to, int64_t pitch) {
  for (int64_t j = 0; j < length; j++)
    for (int64_t i = 0; i < count; i++)
      for (int u = 0; u < unit; u++) to[i * pitch + unit * j + u] = in[unit * (offsets[i] + j * step) + u];
}
template <class T, int unit> void scatter(const T* from, int64_t pitch, int64_t count, int64_t length, T* out, const int64_t* offsets, int64_t step) {
  for (int64_t j = 0; j < length; j++)
    for (int64_t i = 0; i < count; i++)
      for (int u = 0; u < unit; u++) out[unit * (offsets[i] + j * step) + u] = from[i * pitch + unit * j + u];
}

template <class T> void by_rows(const Transform<T>& t, const RowPairs& rows, int lanes) {
  const auto plan = fft_row_plan<T>(t.points(), lanes);
  const auto table = t.halves() ? fft_real_table<T>(t.n) : nullptr;
  const bool direct_in = t.in_step == 1 || t.in_length() == 1, direct_out = t.out_step == 1 || t.out_length() == 1;
  if (t.kind == FftKind::c2c && rows.count() == 1 && direct_in && direct_out && !plan->convolution && t.n >= 4 * kParallelElements && get_num_threads() > 1)
    return parallel_row<T>(*plan, t.in, t.out, t.scale, t.inverse);
  // Odd pitches in cache lines keep gathered rows off each other's sets.
  const int64_t pitch = 2 * (t.n + 1) + 32, block = direct_in && direct_out ? 1 : kGathered;
  const int64_t work_size = plan->middle_size() + plan->scratch_size();
  parallel_for(0, (rows.count() + block - 1) / block, std::max<int64_t>(1, kParallelElements / (t.n * block)), [&](int64_t begin, int64_t end) {
    T* work = work_memory<T>(Work::transform, work_size);
    T* temporary = block > 1 || !t.halves() ? work_memory<T>(Work::row, pitch * (block + 1)) : nullptr;
    int64_t in_offsets[kGathered], out_offsets[kGathered];
    for (int64_t b = begin; b < end; b++) {
      const int64_t first = b * block, count = std::min(block, rows.count() - first);
      rows.offsets(first, count, in_offsets, out_offsets);
      if (!direct_in) {
        if (t.in_unit() == 1) gather<T, 1>(t.in, in_offsets, t.in_step, count, t.in_length(), temporary, pitch);
        else gather<T, 2>(t.in, in_offsets, t.in_step, count, t.in_length(), temporary, pitch);
      }
      for (int64_t i = 0; i < count; i++) {
        const T* in = direct_in ? t.in + in_offsets[i] * t.in_unit() : temporary + i * pitch;
        T* out = direct_out ? t.out + out_offsets[i] * t.out_unit() : temporary + i * pitch;
        contiguous_row<T>(t, *plan, table.get(), in, out, work, temporary + block * pitch);
      }
      if (!direct_out) {
        if (t.out_unit() == 1) scatter<T, 1>(temporary, pitch, count, t.out_length(), t.out, out_offsets, t.out_step);
        else scatter<T, 2>(temporary, pitch, count, t.out_length(), t.out, out_offsets, t.out_step);
      }
    }
  });
}

template <class T> void transform(FftKind kind, const Strided& out, const Strided& self, int64_t dim, int64_t n, bool forward, double scale) {
  const RowPairs rows(self, out, dim);
  if (rows.count() == 0 || n == 0) return;
  const auto d = static_cast<size_t>(dim);
  const Transform<T> t{kind, static_cast<const T*>(self.data), static_cast<T*>(out.data), n, self.strides[d], out.strides[d], static_cast<T>(scale), !forward};
  const int lanes = fft_lanes_of<T>()();
  if (t.n <= kMaxLaneLength && 2 * rows.count() > lanes && fft_has_passes(t.points())) by_lanes<T>(t, rows, lanes);
  else by_rows<T>(t, rows, lanes);
}

// The second half of spectra of real rows.
template <class T> void mirror(const Strided& out, int64_t dim, int64_t n) {
  const RowPairs rows(out, out, dim);
  const int64_t step = 2 * out.strides[static_cast<size_t>(dim)];
  parallel_for(0, rows.count(), std::max<int64_t>(1, kParallelElements / n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) {
      int64_t offset, same;
      rows.offsets(r, 1, &offset, &same);
      T* x = static_cast<T*>(out.data) + 2 * offset;
      for (int64_t k = n / 2 + 1; k < n; k++) {
        x[k * step] = x[(n - k) * step];
        x[k * step + 1] = -x[(n - k) * step + 1];
      }
    }
  });
}

bool is_float(const Strided& a) { return a.dtype == kFloat || a.dtype == kComplexFloat; }

}  // namespace

void fft_c2c(const Strided& out, const Strided& self, IntArrayRef dims, bool forward, double scale) {
  CRESSET_CHECK((self.dtype == kComplexFloat || self.dtype == kComplexDouble) && out.dtype == self.dtype, "fft: expected complex arrays, got ", self.dtype);
  const Strided* from = &self;
  for (size_t i = dims.size(); i-- > 0; from = &out) {
    const int64_t n = self.sizes[static_cast<size_t>(dims[i])];
    if (is_float(self)) transform<float>(FftKind::c2c, out, *from, dims[i], n, forward, i == 0 ? scale : 1.0);
    else transform<double>(FftKind::c2c, out, *from, dims[i], n, forward, i == 0 ? scale : 1.0);
  }
}

void fft_r2c(const Strided& out, const Strided& self, IntArrayRef dims, double scale) {
  const int64_t last = dims.back(), n = self.sizes[static_cast<size_t>(last)];
  const IntArrayRef others(dims.data(), dims.size() - 1);
  const double own = others.empty() ? scale : 1.0;
  const bool whole = out.sizes[static_cast<size_t>(last)] == n && n > 2;
  if (is_float(self)) {
    transform<float>(FftKind::r2c, out, self, last, n, true, own);
    if (whole) mirror<float>(out, last, n);
  } else {
    transform<double>(FftKind::r2c, out, self, last, n, true, own);
    if (whole) mirror<double>(out, last, n);
  }
  fft_c2c(out, out, others, true, scale);
}

void fft_c2r(const Strided& out, const Strided& self, int64_t dim, double scale) {
  const int64_t n = out.sizes[static_cast<size_t>(dim)];
  if (is_float(self)) transform<float>(FftKind::c2r, out, self, dim, n, false, scale);
  else transform<double>(FftKind::c2r, out, self, dim, n, false, scale);
}

}  // namespace cresset::kernels
