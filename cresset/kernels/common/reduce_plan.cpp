#include "cresset/kernels/common/reduce_plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"

namespace cresset::kernels {

namespace {

constexpr int kMaxDims = 64;

struct Dim {
  int64_t size, in, out[kMaxReduceOuts];

  // Of an expanded dimension the input's stride says nothing.
  bool further_in(const Dim& d) const { return in && d.in ? std::llabs(in) < std::llabs(d.in) : std::llabs(out[0]) < std::llabs(d.out[0]); }
};

// Outermost first; strides fall towards the end.
struct Dims {
  int count = 0;
  Dim dims[kMaxDims];
  int64_t numel = 1;

  void add(const Dim& d) {
    numel *= d.size;
    if (d.size != 1) dims[count++] = d;
  }
  void sort() {
    for (int i = 1; i < count; i++) {
      const Dim d = dims[i];
      int j = i;
      for (; j > 0 && dims[j - 1].further_in(d); j--) dims[j] = dims[j - 1];
      dims[j] = d;
    }
  }
  void coalesce() {
    int kept = 0;
    for (int i = 1; i < count; i++) {
      Dim& a = dims[kept];
      const Dim& b = dims[i];
      bool joins = a.in == b.in * b.size;
      for (int o = 0; o < kMaxReduceOuts; o++) joins = joins && a.out[o] == b.out[o] * b.size;
      if (joins) {
        const int64_t size = a.size * b.size;
        a = b;
        a.size = size;
      } else {
        dims[++kept] = b;
      }
    }
    if (count) count = kept + 1;
    if (count == 0) dims[count++] = Dim{1, 0, {0, 0}};
  }
  const Dim& last() const { return dims[count - 1]; }
  // The dimensions before the last one, at row-major position i: the offset into the input and, if asked for, into the outputs.
  int64_t offset(int64_t i, int64_t* out = nullptr) const {
    int64_t in = 0;
    for (int d = count - 2; d >= 0 && i; d--) {
      const int64_t k = i % dims[d].size;
      i /= dims[d].size;
      in += k * dims[d].in;
      if (out)
        for (int o = 0; o < kMaxReduceOuts; o++) out[o] += k * dims[d].out[o];
    }
    return in;
  }
};

// Memory for a thread's tiles: on the stack while it is small.
class Accumulators {
 public:
  char* get(size_t bytes) {
    if (bytes <= sizeof small_) return small_;
    if (bytes > size_) {
      heap_.reset(new char[bytes]);
      size_ = bytes;
    }
    return heap_.get();
  }

 private:
  alignas(64) char small_[4096];
  std::unique_ptr<char[]> heap_;
  size_t size_ = 0;
};

// Joins tiles that arrive in order as a binary counter does, tile 2k with 2k + 1 and so on upwards, or each with all before it.
class Tree {
 public:
  Tree(const ReduceKernel& kernel, char* levels, int64_t width, bool in_order)
      : kernel_(kernel), levels_(levels), width_(width), bytes_(width * kernel.acc_size), in_order_(in_order) {}
  static constexpr int kLevels = 40;

  // Where the next tile goes.
  char* next() { return levels_ + depth_ * bytes_; }
  void push() {
    depth_++;
    if (in_order_) {
      if (depth_ > 1) fold();
    } else {
      for (int64_t c = ++pushed_; (c & 1) == 0; c >>= 1) fold();
    }
  }
  char* result() {
    while (depth_ > 1) fold();
    return levels_;
  }
  static int levels_for(int64_t tiles) {
    int n = 2;
    while (tiles >>= 1) n++;
    return n;
  }

 private:
  void fold() {
    depth_--;
    kernel_.join(levels_ + (depth_ - 1) * bytes_, levels_ + depth_ * bytes_, width_);
  }
  const ReduceKernel& kernel_;
  char* levels_;
  int64_t width_, bytes_, depth_ = 0, pushed_ = 0;
  bool in_order_;
};

class Reduction {
 public:
  Reduction(const ReduceKernel& kernel, const ReduceProblem& problem, FinishFn finish) : kernel_(kernel), problem_(problem), finish_(finish) {
    CRESSET_CHECK(problem.shape.size() <= static_cast<size_t>(kMaxDims), "reduce: too many dimensions, got ", problem.shape.size(), ", expected at most ",
                  kMaxDims);
    for (size_t d = 0; d < problem.shape.size(); d++) {
      const bool reduced = problem.reduce_mask >> d & 1;
      Dim dim{problem.shape[d], problem.in_strides[d], {0, 0}};
      for (int o = 0; o < kMaxReduceOuts && !reduced; o++)
        if (problem.out[o]) dim.out[o] = problem.out_strides[o][d];
      (reduced ? reduced_ : kept_).add(dim);
    }
    kept_.sort();
    if (!problem.ordered) reduced_.sort();
    kept_.coalesce();
    reduced_.coalesce();
  }

  void run() {
    if (kept_.numel == 0) return;
    choose();
    const int64_t items = tiles_ * pieces_;
    const int64_t item_work = std::min(tile_, kept_.last().size) * std::min(piece_, std::max<int64_t>(reduced_.numel, 1));
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(item_work, 1));
    if (pieces_ == 1) {
      parallel_for(0, items, grain, [&](int64_t b, int64_t e) {
        Accumulators accumulators;
        for (int64_t i = b; i < e; i++) {
          const Tile t = tile(i);
          char* acc = reduce_tile(t, 0, reduced_.numel, accumulators);
          write(acc, t.first, t.width, t.out);
        }
      });
      return;
    }
    const std::unique_ptr<char[]> partial(new char[kept_.numel * pieces_ * kernel_.acc_size]);
    const int64_t plane = kept_.numel * kernel_.acc_size;
    parallel_for(0, items, grain, [&](int64_t b, int64_t e) {
      Accumulators accumulators;
      for (int64_t i = b; i < e; i++) {
        const Tile t = tile(i / pieces_);
        const int64_t p = i % pieces_, begin = p * piece_, end = std::min(reduced_.numel, begin + piece_);
        const char* acc = reduce_tile(t, begin, end, accumulators);
        std::memcpy(partial.get() + p * plane + t.index * kernel_.acc_size, acc, t.width * kernel_.acc_size);
      }
    });
    for (int64_t step = 1; step < pieces_; step *= 2)
      for (int64_t p = 0; p + step < pieces_; p += 2 * step) kernel_.join(partial.get() + p * plane, partial.get() + (p + step) * plane, kept_.numel);
    for (int64_t i = 0; i < tiles_; i++) {
      const Tile t = tile(i);
      write(partial.get() + t.index * kernel_.acc_size, t.first, t.width, t.out);
    }
  }

 private:
  // A stretch of outputs along the innermost kept dimension.
  struct Tile {
    int64_t index, first, width, in, out[kMaxReduceOuts];
  };

  // Whether rows or columns are the fast direction, and the sizes of tiles and pieces: from the shape alone.
  void choose() {
    const Dim &k = kept_.last(), &r = reduced_.last();
    const bool near = std::llabs(r.in) <= std::llabs(k.in) || k.size == 1;
    by_rows_ = kept_.numel == 1 || (near && (r.size >= 16 || k.size < 8));
    if (by_rows_) {
      piece_ = reduced_.numel <= kMaxRun ? std::max<int64_t>(reduced_.numel, 1) : kMaxRun;
      tile_ = std::clamp<int64_t>(kMaxRun / piece_, 1, 256);
    } else {
      piece_ = kMaxRows;
      tile_ = kMaxCols;
    }
    pieces_ = std::max<int64_t>(1, (reduced_.numel + piece_ - 1) / piece_);
    tiles_across_ = (k.size + tile_ - 1) / tile_;
    tiles_ = kept_.numel / k.size * tiles_across_;
  }

  Tile tile(int64_t i) const {
    const Dim& k = kept_.last();
    const int64_t outer = i / tiles_across_;
    Tile t{0, i % tiles_across_ * tile_, 0, 0, {0, 0}};
    t.width = std::min(tile_, k.size - t.first);
    t.index = outer * k.size + t.first;
    t.in = kept_.offset(outer, t.out) + t.first * k.in;
    for (int o = 0; o < kMaxReduceOuts; o++) t.out[o] += t.first * k.out[o];
    return t;
  }

  // Reduces elements [begin, end) of the reduced dimensions for every output of the tile.
  char* reduce_tile(const Tile& t, int64_t begin, int64_t end, Accumulators& accumulators) const {
    const Dim &k = kept_.last(), &r = reduced_.last();
    const int64_t limit = by_rows_ ? kMaxRun : kMaxRows;
    const int64_t runs = r.size ? (end - 1) / r.size - begin / r.size + 1 : 1;
    const int64_t cuts = runs + (end - begin) / limit + 1;
    char* levels = accumulators.get(t.width * kernel_.acc_size * Tree::levels_for(cuts));
    Tree tree(kernel_, levels, t.width, reduced_.numel <= kernel_.longest_in_order);
    const auto reduce = [&](int64_t at, int64_t offset, int64_t n) {
      const char* in = problem_.in + t.in + offset;
      if (by_rows_) kernel_.inner(in, t.width, k.in, n, r.in, at, problem_.param, tree.next());
      else kernel_.outer(in, n, r.in, t.width, k.in, at, problem_.param, tree.next());
      tree.push();
    };
    if (begin == end) {
      reduce(0, 0, 0);
      return tree.result();
    }
    for (int64_t at = begin; at < end;) {
      const int64_t row = at / r.size, col = at % r.size;
      const int64_t n = std::min({r.size - col, end - at, limit});
      reduce(at, reduced_.offset(row) + col * r.in, n);
      at += n;
    }
    return tree.result();
  }

  void write(char* acc, int64_t, int64_t n, const int64_t* offsets) {
    char* out[kMaxReduceOuts];
    for (int o = 0; o < kMaxReduceOuts; o++) out[o] = problem_.out[o] ? problem_.out[o] + offsets[o] : nullptr;
    finish_(acc, n, out, kept_.last().out);
  }

  const ReduceKernel& kernel_;
  const ReduceProblem& problem_;
  FinishFn finish_;
  Dims kept_, reduced_;
  bool by_rows_ = true;
  int64_t piece_ = 1, tile_ = 1, pieces_ = 1, tiles_across_ = 1, tiles_ = 1;
};

}  // namespace

void run_reduction(const ReduceKernel& kernel, const ReduceProblem& problem, FinishFn finish) { Reduction(kernel, problem, finish).run(); }

}  // namespace cresset::kernels
