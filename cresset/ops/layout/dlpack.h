#pragma once
// Tensors of other libraries, and ours for them, by the DLPack protocol (https://dmlc.github.io/dlpack): structures of a fixed
// layout, which versions 0 (DLManagedTensor) and 1 (DLManagedTensorVersioned) hold.

#include <functional>

#include "cresset/core/tensor.h"

// A program that includes the protocol's own header has the structures already.
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
extern "C" {
enum DLDeviceType : int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
};
struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
};
enum DLDataTypeCode : uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLOpaqueHandle = 3, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 };
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;  // strides in elements; null: contiguous
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);  // may be null
};
struct DLPackVersion {
  uint32_t major, minor;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};
}
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#endif

namespace cresset {

// Errors, of those that make tensors: lanes, a type without a dtype, memory of another device than the CPU, negative strides.
CRESSET_API ScalarType toScalarType(const DLDataType& type);
CRESSET_API DLDataType getDLDataType(const Tensor& t);
CRESSET_API DLDevice getDLContext(const Tensor& t);

// The memory of `t`, which stays while the structure is there: its deleter gives both back. Errors: no memory on the CPU.
CRESSET_API DLManagedTensor* toDLPack(const Tensor& t);
CRESSET_API DLManagedTensorVersioned* toDLPackVersioned(const Tensor& t);

// A tensor over the memory, which owns the structure: the deleter, or the one given, runs when the last tensor over it is gone.
CRESSET_API Tensor fromDLPack(DLManagedTensor* managed);
CRESSET_API Tensor fromDLPack(DLManagedTensor* managed, std::function<void(void*)> deleter);
CRESSET_API Tensor fromDLPackVersioned(DLManagedTensorVersioned* managed);
CRESSET_API Tensor fromDLPackVersioned(DLManagedTensorVersioned* managed, std::function<void(void*)> deleter);

}  // namespace cresset
