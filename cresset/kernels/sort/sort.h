#pragma once
// Sorting, selection and searching. Arrays are `Strided` (element strides); indices are int64. All real dtypes.
//
// The order is PyTorch's: NaN is greater than everything, all NaN are equal, and -0 equals 0. Ties keep the order of the input,
// descending too, so that every result is determined; 0-d arrays count as one element. Outputs overlap no input.
// Errors: NotImplementedError for complex dtypes.

#include "cresset/kernels/common/strided.h"

namespace cresset::kernels {

// values and indices have self's shape; an undefined `values` is not written. Stable.
void sort(const Strided& values, const Strided& indices, const Strided& self, int64_t dim, bool descending);
void argsort(const Strided& indices, const Strided& self, int64_t dim, bool descending);

// The k greatest or least along dim; outputs are k long there. Of equal elements the first come in. If not `sorted`, in no
// particular but a determined order. Errors: Error if k is out of range.
void topk(const Strided& values, const Strided& indices, const Strided& self, int64_t k, int64_t dim, bool largest, bool sorted);

// Outputs of the following have length 1 along dim.
// The k-th least (k from 1). Errors: Error if k is out of range.
void kthvalue(const Strided& values, const Strided& indices, const Strided& self, int64_t k, int64_t dim);
// The lower one of two middle elements; NaN if there is one, unless they are to be ignored.
void median(const Strided& values, const Strided& indices, const Strided& self, int64_t dim, bool ignore_nan);
// The least of the most frequent values and the index of its last occurrence.
void mode(const Strided& values, const Strided& indices, const Strided& self, int64_t dim);

// The sorted distinct elements of self. `values` (self's dtype), `inverse` and `counts` are contiguous with room for
// self.numel() elements; the latter two may be null. Returns how many. Every NaN is distinct.
int64_t unique(void* values, int64_t* inverse, int64_t* counts, const Strided& self);
// The same for runs of equal neighbours in row-major order.
int64_t unique_consecutive(void* values, int64_t* inverse, int64_t* counts, const Strided& self);

// Where to insert values (..., m) into the rows of `sorted` (..., n) or into one 1-d row: before equal elements, or behind them
// if `right`. out (int64 or int32) has the shape of values. `sorter`, if defined, holds the sorting permutation of each row.
void searchsorted(const Strided& out, const Strided& sorted, const Strided& values, bool right, const Strided& sorter = {});

// Counts of float or double elements in equal bins over [low, high]; elements outside and NaN are left out. out is 1-d of
// self's dtype.
void histc(const Strided& out, const Strided& self, double low, double high);
// Occurrences of 0, 1, ... out.size(0) - 1 in a 1-d array of integers. out is int64, or has the weights' dtype (float or double).
// Errors: Error if an element is negative or too large.
void bincount(const Strided& out, const Strided& self, const Strided& weights = {});

}  // namespace cresset::kernels
