#include "cresset/kernels/iter/blocks.h"

#include "cresset/kernels/isa.h"
#include "cresset/kernels/layout/cpu/convert.h"

namespace cresset::kernels {

void run_blocks(const BlockPlan& plan, Loop loop, char** data, const int64_t* strides, int64_t n, const Scalar* params) {
  constexpr int64_t kBlock = 512;
  alignas(64) char buffers[kMaxOperands][kBlock * 16];
  char* block_data[kMaxOperands];
  int64_t block_strides[kMaxOperands];
  Convert convert[kMaxOperands];
  for (int i = 0; i < plan.operands; i++) {
    const auto size = static_cast<int64_t>(element_size(plan.inner[i]));
    const bool direct = plan.outer[i] == plan.inner[i] && strides[i] == size;
    block_strides[i] = size;
    block_data[i] = direct ? data[i] : buffers[i];
    const bool output = i < plan.outputs;
    convert[i] = direct ? nullptr : converter(output ? plan.inner[i] : plan.outer[i], output ? plan.outer[i] : plan.inner[i]);
    // A broadcast input is the same in every block.
    if (!direct && !output && strides[i] == 0) {
      convert[i](buffers[i], size, data[i], 0, n < kBlock ? n : kBlock);
      convert[i] = nullptr;
    }
  }
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = n - done < kBlock ? n - done : kBlock;
    for (int i = 0; i < plan.operands; i++) {
      if (block_data[i] != buffers[i]) block_data[i] = data[i] + done * strides[i];
      else if (convert[i] && i >= plan.outputs) convert[i](buffers[i], block_strides[i], data[i] + done * strides[i], strides[i], count);
    }
    loop(block_data, block_strides, count, params);
    for (int i = 0; i < plan.outputs; i++)
      if (convert[i]) convert[i](data[i] + done * strides[i], strides[i], buffers[i], block_strides[i], count);
  }
}

}  // namespace cresset::kernels
