#pragma once
// The loops behind kernels/random/random.h that profit from wide vectors. All take words from the engine in order.

#include "cresset/base/dtype.h"
#include "cresset/base/mt19937.h"
#include "cresset/kernels/isa.h"

// The next n words of the stream.
CRESSET_DECLARE_KERNEL(void, random_words, (Mt19937 & engine, uint32_t* out, int64_t n))
// fma(u, to - from, from) for floating dtypes.
CRESSET_DECLARE_KERNEL(void, random_uniform, (Mt19937 & engine, void* out, ScalarType dtype, int64_t n, double from, double to))
// Box-Muller over `blocks` blocks of 16 uniform numbers in [0, 1): 8 radii, then 8 angles. The float one rounds to Half or BFloat16
// if `dtype` says so; out may be x.
CRESSET_DECLARE_KERNEL(void, box_muller_float, (void* out, ScalarType dtype, const float* x, int64_t blocks, float mean, float std))
CRESSET_DECLARE_KERNEL(void, box_muller_double, (double* data, int64_t blocks, double mean, double std))
// `one` (the bytes of an element) where the 53-bit number of q is below `threshold`, else zero bytes.
CRESSET_DECLARE_KERNEL(void, random_bernoulli, (Mt19937 & engine, void* out, size_t item, int64_t n, uint64_t threshold, uint64_t one))
// out = x * noise with noise `scale` where the 53-bit number of q is below `threshold`, else 0; floating dtypes; noise may be null.
CRESSET_DECLARE_KERNEL(void, random_dropout,
                       (Mt19937 & engine, void* out, void* noise, const void* x, ScalarType dtype, int64_t n, uint64_t threshold, float scale,
                        double double_scale))
// u24 < p for n <= 1024 probabilities, as bytes.
CRESSET_DECLARE_KERNEL(void, random_below, (Mt19937 & engine, uint8_t* out, const float* p, int64_t n))
// w mod range + from; from and from + range fit int64, range <= 2^28 or a power of two up to 2^32.
CRESSET_DECLARE_KERNEL(void, random_mod, (Mt19937 & engine, void* out, ScalarType dtype, int64_t n, uint64_t range, int64_t from))
// q mod range + from; range 0 stands for 2^64.
CRESSET_DECLARE_KERNEL(void, random_mod64, (Mt19937 & engine, void* out, ScalarType dtype, int64_t n, uint64_t range, int64_t from))
// Fisher-Yates from the front over 0 ... n-1, n < 2^28.
CRESSET_DECLARE_KERNEL(void, random_shuffle, (Mt19937 & engine, uint32_t* out, int64_t n))

// The 53-bit numbers of n pairs q as n fractions in [0, 1), in place.
CRESSET_DECLARE_KERNEL(void, words_to_u53, (double* data, int64_t n))
// Pairs (angle, radius) of such fractions to pairs of standard normals, in place.
CRESSET_DECLARE_KERNEL(void, polar_normal, (double* data, int64_t pairs))
// fma(data, scale, shift) in place.
CRESSET_DECLARE_KERNEL(void, scale_shift, (double* data, int64_t n, double scale, double shift))
// scale * log(1 - u) rounded to float, exactly as with the C library's log1p in double.
CRESSET_DECLARE_KERNEL(void, exponential_float, (float* out, const double* u, int64_t n, double scale))
