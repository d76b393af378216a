#include "cresset/kernels/sort/cpu/sort_rows.h"

#include <algorithm>
#include <bit>

#include "cresset/kernels/common/sort_key.h"
#include "cresset/kernels/pointwise/wide_unsigned.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

// Facts of one pass over a row.
template <class Key> struct Range {
  Key low, high;  // of the keys
  bool special;   // some elements are not determined by their keys
};

template <class T> Range<SortKey<T>> range_of(const T* row, int64_t n, SortKey<T> flip) {
  using Key = SortKey<T>;
  Key low = static_cast<Key>(~Key{0}), high = 0;
  Key special = 0;
  for (int64_t i = 0; i < n; i++) {
    const Key key = KeyCodec<T>::encode(row[i]) ^ flip;
    low = key < low ? key : low;
    high = key > high ? key : high;
    if constexpr (KeyCodec<T>::kFloating) special |= static_cast<Key>(KeyCodec<T>::is_special(row[i]));
  }
  return {low, high, special != 0};
}

// Keys that are compared the other way round for a descending order. Narrow dtypes use only their own bits.
template <class T> constexpr SortKey<T> flip_of(bool descending) {
  return descending ? static_cast<SortKey<T>>(static_cast<typename KeyCodec<T>::Bits>(~typename KeyCodec<T>::Bits{0})) : 0;
}

constexpr int kMaxDigitBits = 8;
constexpr int kMaxPasses = 8;

struct Digits {
  int bits, passes, first;  // digits of `bits` bits from bit `first` upwards
};

Digits digits_of(int width, int first) {
  const int passes = std::max(1, (width + kMaxDigitBits - 1) / kMaxDigitBits);
  return {std::max(1, (width + passes - 1) / passes), passes, first};
}

// Leaves the sorted words in the array returned, `words` or `other`, but for the last pass, which `emit` places.
template <class Emit> void radix_sort(uint64_t* words, uint64_t* other, int64_t n, Digits d, Emit emit) {
  constexpr int kBuckets = 1 << kMaxDigitBits;
  uint32_t counts[kMaxPasses][kBuckets] = {};
  const uint64_t mask = (uint64_t{1} << d.bits) - 1;
  for (int64_t i = 0; i < n; i++) {
    uint64_t digits = words[i] >> d.first;
    for (int p = 0; p < d.passes; p++, digits >>= d.bits) counts[p][digits & mask]++;
  }
  for (int p = 0; p < d.passes; p++) {
    uint32_t start = 0;
    for (uint64_t b = 0; b <= mask; b++) {
      const uint32_t count = counts[p][b];
      counts[p][b] = start;
      start += count;
    }
  }
  int shift = d.first;
  for (int p = 0; p + 1 < d.passes; p++, shift += d.bits) {
    uint32_t* place = counts[p];
    for (int64_t i = 0; i < n; i++) {
      const uint64_t w = words[i];
      other[place[w >> shift & mask]++] = w;
    }
    std::swap(words, other);
  }
  uint32_t* place = counts[d.passes - 1];
  for (int64_t i = 0; i < n; i++) {
    const uint64_t w = words[i];
    emit(place[w >> shift & mask]++, w);
  }
}

template <class T> void sort_typed(const T* row, int64_t n, bool descending, T* values, int64_t* indices, uint64_t* scratch) {
  using Codec = KeyCodec<T>;
  using Key = SortKey<T>;
  const Key flip = flip_of<T>(descending);
  const Range<Key> range = range_of(row, n, flip);
  const int width = std::bit_width(static_cast<uint64_t>(range.high - range.low));
  const int index_bits = std::bit_width(static_cast<uint64_t>(n - 1));
  // Low bits of the key that find no room beside the index.
  const int dropped = std::max(0, width + index_bits - 64);
  const uint64_t index_mask = (uint64_t{1} << index_bits) - 1;
  for (int64_t i = 0; i < n; i++) {
    const uint64_t key = static_cast<uint64_t>(static_cast<Key>((Codec::encode(row[i]) ^ flip) - range.low));
    scratch[i] = key >> dropped << index_bits | static_cast<uint64_t>(i);
  }
  const bool decodes = !range.special && dropped == 0;
  const auto emit = [&](int64_t at, uint64_t w) {
    const int64_t index = static_cast<int64_t>(w & index_mask);
    indices[at] = index;
    if (values) values[at] = decodes ? Codec::decode(static_cast<Key>((w >> index_bits) + range.low) ^ flip) : row[index];
  };
  // 200: below it, comparing beats the histograms.
  if (n < 200) {
    std::sort(scratch, scratch + n);
    for (int64_t i = 0; i < n; i++) emit(i, scratch[i]);
  } else {
    radix_sort(scratch, scratch + n, n, digits_of(width - dropped, index_bits), emit);
  }
  if (dropped == 0) return;
  // Runs that agree in the kept bits are put in order by the whole key.
  const auto key_at = [&](int64_t i) { return static_cast<Key>((Codec::encode(row[i]) ^ flip) - range.low); };
  for (int64_t b = 0; b < n;) {
    int64_t e = b + 1;
    const Key top = key_at(indices[b]) >> dropped;
    while (e < n && key_at(indices[e]) >> dropped == top) e++;
    if (e - b > 1) {
      std::sort(indices + b, indices + e, [&](int64_t x, int64_t y) {
        const Key kx = key_at(x), ky = key_at(y);
        return kx != ky ? kx < ky : x < y;
      });
      for (int64_t i = b; values && i < e; i++) values[i] = row[indices[i]];
    }
    b = e;
  }
}

template <class Key> struct Candidate {
  Key key;
  uint32_t index;
  bool operator<(const Candidate& o) const { return key != o.key ? key < o.key : index < o.index; }
};

// A key that at least k of the n keys do not exceed and hardly more: the k-th of the least keys of `groups` interleaved groups.
template <int groups, class Key, class Encode> Key upper_bound_of(int64_t n, int64_t k, Encode encode) {
  Key least[groups];
  for (int64_t j = 0; j < groups; j++) least[j] = encode(j);
  for (int64_t i = groups; i + groups <= n; i += groups)
    for (int64_t j = 0; j < groups; j++) {
      const Key key = encode(i + j);
      least[j] = key < least[j] ? key : least[j];
    }
  std::nth_element(least, least + k - 1, least + groups);
  return least[k - 1];
}

template <class T> void select_typed(const T* row, int64_t n, int64_t k, bool descending, bool sorted, T* values, int64_t* indices, uint64_t* scratch) {
  using Key = SortKey<T>;
  using C = Candidate<Key>;
  static_assert(sizeof(C) <= 2 * sizeof(uint64_t));
  const Key flip = flip_of<T>(descending);
  C* const best = reinterpret_cast<C*>(scratch);
  const auto encode = [&](int64_t i) { return static_cast<Key>(KeyCodec<T>::encode(row[i]) ^ flip); };
  const auto write = [&] {
    for (int64_t j = 0; j < k; j++) {
      indices[j] = best[j].index;
      if (values) values[j] = row[best[j].index];
    }
  };
  const auto finish = [&] {
    if (sorted) std::sort(best, best + k);
    write();
  };
  // Among equal values of a short row PyTorch's choice is that of these algorithms.
  constexpr int64_t kShortRow = 256, kRareEnough = 64;
  if (n <= kShortRow) {
    const auto before = [](const C& a, const C& b) { return a.key < b.key; };
    for (int64_t i = 0; i < n; i++) best[i] = {encode(i), static_cast<uint32_t>(i)};
    if (k * kRareEnough <= n) {
      std::partial_sort(best, best + k, best + n, before);
    } else {
      std::nth_element(best, best + k - 1, best + n, before);
      if (sorted) std::sort(best, best + k - 1, before);
    }
    return write();
  }
  constexpr int64_t kBlock = 32;
  constexpr int kFew = 16, kMany = 64;
  int64_t count = 0;
  const bool is_few = k <= kFew / 2 && n >= 2 * kFew, is_many = k <= kMany * 3 / 4 && n >= 4 * kMany;
  if (n <= 16384 && (is_few || is_many)) {
    const Key bound = is_few ? upper_bound_of<kFew, Key>(n, k, encode) : upper_bound_of<kMany, Key>(n, k, encode);
    const auto collect = [&](int64_t from, int64_t to) {
      for (int64_t j = from; j < to; j++)
        if (const Key key = encode(j); key <= bound) best[count++] = {key, static_cast<uint32_t>(j)};
    };
    int64_t i = 0;
    for (; i + kBlock <= n; i += kBlock) {
      Key any = 0;
      for (int64_t j = 0; j < kBlock; j++) any |= static_cast<Key>(encode(i + j) <= bound);
      if (any) collect(i, i + kBlock);
    }
    collect(i, n);
    if (count > k) std::nth_element(best, best + k - 1, best + count);
    return finish();
  }
  const int64_t capacity = std::min(n, 2 * k + 64);
  for (; count < capacity; count++) best[count] = {encode(count), static_cast<uint32_t>(count)};
  const auto shrink = [&] {
    if (count > k) std::nth_element(best, best + k - 1, best + count);
    count = std::min(count, k);
    return best[k - 1].key;
  };
  Key bar = shrink();
  int64_t i = capacity;
  for (; i + kBlock <= n; i += kBlock) {
    Key any = 0;
    for (int64_t j = 0; j < kBlock; j++) any |= static_cast<Key>(encode(i + j) < bar);
    if (!any) continue;
    for (int64_t j = i; j < i + kBlock; j++) {
      const Key key = encode(j);
      if (key >= bar) continue;
      best[count++] = {key, static_cast<uint32_t>(j)};
      if (count == capacity) bar = shrink();
    }
  }
  for (; i < n; i++) {
    const Key key = encode(i);
    if (key >= bar) continue;
    best[count++] = {key, static_cast<uint32_t>(i)};
    if (count == capacity) bar = shrink();
  }
  shrink();
  finish();
}

}  // namespace

void sort_row(ScalarType t, const void* row, int64_t n, bool descending, void* values, int64_t* indices, uint64_t* scratch) {
  visit_real(t, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (left_to_baseline<T>) isa_baseline::sort_row(t, row, n, descending, values, indices, scratch);
    else sort_typed<T>(static_cast<const T*>(row), n, descending, static_cast<T*>(values), indices, scratch);
  });
}

void select_row(ScalarType t, const void* row, int64_t n, int64_t k, bool descending, bool sorted, void* values, int64_t* indices, uint64_t* scratch) {
  visit_real(t, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (left_to_baseline<T>) isa_baseline::select_row(t, row, n, k, descending, sorted, values, indices, scratch);
    else select_typed<T>(static_cast<const T*>(row), n, k, descending, sorted, static_cast<T*>(values), indices, scratch);
  });
}

}  // namespace cresset::kernels::CRESSET_ISA
