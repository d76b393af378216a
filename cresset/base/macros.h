#pragma once
// Compiler attributes and symbol visibility; the only header that every other one may rely on.

#define CRESSET_LIKELY(x) __builtin_expect(!!(x), 1)
#define CRESSET_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CRESSET_NOINLINE __attribute__((noinline))
#define CRESSET_COLD __attribute__((cold, noinline))
#define CRESSET_ALWAYS_INLINE inline __attribute__((always_inline))
#define CRESSET_RESTRICT __restrict__

#define CRESSET_CONCAT_INNER(a, b) a##b
#define CRESSET_CONCAT(a, b) CRESSET_CONCAT_INNER(a, b)

// The library is built with hidden visibility: only what carries this mark is exported.
#define CRESSET_API __attribute__((visibility("default")))
// A member of an exported class that nothing outside of the library calls.
#define CRESSET_LOCAL __attribute__((visibility("hidden")))
