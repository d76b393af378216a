#include "cresset/kernels/iter/nd_iter.h"

#include "cresset/base/parallel.h"
#include "cresset/kernels/iter/blocks.h"
#include "cresset/kernels/iter/walk.h"
#include "cresset/kernels/layout/cpu/stream.h"

namespace cresset::kernels {

namespace {

bool same_dtypes(ArrayRef<Operand> operands, ArrayRef<ScalarType> loop_dtypes) {
  for (size_t i = 0; i < operands.size(); i++)
    if (operands[i].dtype != loop_dtypes[i]) return false;
  return true;
}

void run_converting(const Walk& w, ArrayRef<Operand> operands, int num_outputs, ArrayRef<ScalarType> loop_dtypes, Loop loop, const Scalar* params,
                    int64_t grain) {
  BlockPlan plan;
  plan.operands = w.operands;
  plan.outputs = num_outputs;
  for (int i = 0; i < w.operands; i++) {
    plan.outer[i] = operands[i].dtype;
    plan.inner[i] = loop_dtypes[i];
  }
  parallel_for(0, w.total, grain,
               [&](int64_t begin, int64_t end) { w.range(begin, end, [&](char** at, int64_t n) { run_blocks(plan, loop, at, w.strides[0], n, params); }); });
}

// Whether the output goes past the caches: one dense output that is too large for them and that no input has brought in.
bool bypasses_cache(const Walk& w, ArrayRef<Operand> operands, int num_outputs) {
  const auto size = static_cast<int64_t>(element_size(operands[0].dtype));
  if (w.total * size < stream_threshold() || num_outputs != 1 || w.strides[0][0] != size || w.sizes[0] < 1024) return false;
  for (int i = 1; i < w.operands; i++)
    if (w.data[i] == w.data[0]) return false;
  return true;
}

// Each piece is computed into a block that stays in the first-level cache and streamed from there.
void run_streaming(const Walk& w, int64_t size, Loop loop, const Scalar* params, int64_t grain) {
  constexpr int64_t kBlockBytes = 1024;  // smaller than caches: loads and streamed stores overlap
  const int64_t block = kBlockBytes / size;
  const auto stream = call(stream_copy_stub);
  parallel_for(0, w.total, grain, [&](int64_t begin, int64_t end) {
    alignas(64) char buffer[kBlockBytes];
    w.range(begin, end, [&](char** at, int64_t n) {
      for (int64_t done = 0; done < n; done += block) {
        const int64_t count = std::min(block, n - done);
        char* piece[kMaxOperands];
        piece[0] = buffer;
        for (int i = 1; i < w.operands; i++) piece[i] = at[i] + done * w.strides[0][i];
        loop(piece, w.strides[0], count, params);
        stream(at[0] + done * size, buffer, count * size);
      }
    });
    stream_fence();
  });
}

}  // namespace

void run_nd(IntArrayRef shape, ArrayRef<Operand> operands, int num_outputs, ArrayRef<ScalarType> loop_dtypes, Loop loop, const Scalar* params, int64_t grain) {
  Walk w;
  w.prepare(shape, operands);
  if (w.total == 0) return;
  if (!same_dtypes(operands, loop_dtypes)) {
    w.avoid_short_rows();
    return run_converting(w, operands, num_outputs, loop_dtypes, loop, params, grain);
  }
  if (w.dims == 1 && w.total <= grain) return loop(w.data, w.strides[0], w.total, params);
  w.avoid_short_rows();
  if (bypasses_cache(w, operands, num_outputs)) return run_streaming(w, static_cast<int64_t>(element_size(operands[0].dtype)), loop, params, grain);
  parallel_for(0, w.total, grain, [&](int64_t begin, int64_t end) { w.range(begin, end, [&](char** at, int64_t n) { loop(at, w.strides[0], n, params); }); });
}

}  // namespace cresset::kernels
