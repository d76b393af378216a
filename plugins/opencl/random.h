#pragma once
// The device's generators: their next 64 bits are the key of a counter-based sequence (Philox), which kernels draw from.

#include "cresset/core/random/generator.h"
#include "device.h"

namespace opencl {

cresset::Generator& default_generator(DeviceIndex index);
void manual_seed(uint64_t seed);
// A key that no other call has; undefined generators are the device's default.
uint64_t next_key(const cresset::Generator& generator, DeviceIndex index);

}  // namespace opencl
