// Sorting the values of a node: one 64-bit key per row, with the value in the high bits and the row
// in the low bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace jarf {

// Bits that compare like the floats. Adding zero maps -0 to +0.
inline std::uint32_t ordered_bits(float value) {
  value += 0.0f;
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits ^ ((bits >> 31) ? 0xffffffffU : 0x80000000U);
}

inline float float_of_bits(std::uint32_t bits) {
  bits ^= (bits >> 31) ? 0x80000000U : 0xffffffffU;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

using Key = std::uint64_t;
inline Key make_key(float value, std::size_t i) {
  return (static_cast<Key>(ordered_bits(value)) << 32) | static_cast<std::uint32_t>(i);
}
inline std::uint32_t key_bits(Key key) { return static_cast<std::uint32_t>(key >> 32); }
inline std::uint32_t key_row(Key key) { return static_cast<std::uint32_t>(key); }

inline void insertion_sort(Key* keys, std::size_t n) {
  for (std::size_t i = 1; i < n; ++i) {
    const Key key = keys[i];
    std::size_t j = i;
    for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
    keys[j] = key;
  }
}

// Places each key by its number of smaller values. Comparing all pairs has no branches to predict
// and eight lanes that compilers vectorise. It is the fastest method up to about a hundred keys.
constexpr std::size_t kMostRanked = 128;
inline void rank_sort(Key*& keys, Key*& spare, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  std::int32_t bits[kMostRanked + kLanes];
  std::uint8_t taken[kMostRanked];  // per rank: equal values placed so far
  for (std::size_t i = 0; i < n; ++i) {
    bits[i] = static_cast<std::int32_t>(key_bits(keys[i]) ^ 0x80000000U);
    taken[i] = 0;
  }
  std::fill(bits + n, bits + n + kLanes, 0);
  for (std::size_t begin = 0; begin < n; begin += kLanes) {
    std::int32_t ours[kLanes], ranks[kLanes] = {};
    std::copy(bits + begin, bits + begin + kLanes, ours);
    for (std::size_t j = 0; j < n; ++j) {
      const std::int32_t other = bits[j];
      for (std::size_t lane = 0; lane < kLanes; ++lane) ranks[lane] += other < ours[lane];
    }
    const std::size_t end = std::min(kLanes, n - begin);
    for (std::size_t lane = 0; lane < end; ++lane) {
      const std::int32_t rank = ranks[lane];
      spare[rank + taken[rank]++] = keys[begin + lane];
    }
  }
  std::swap(keys, spare);
}

// Radix sort, least significant digit first, over the bits of the value only. Keys arrive with
// ascending rows and the sort is stable, so the result is ordered by the whole key.
inline void radix_sort(Key*& keys, Key*& spare, std::size_t n) {
  constexpr int kDigits = 4, kRadix = 256;
  std::uint32_t counts[kDigits][kRadix] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t bits = key_bits(keys[i]);
    for (int digit = 0; digit < kDigits; ++digit) ++counts[digit][(bits >> (8 * digit)) & 255];
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    std::uint32_t* count = counts[digit];
    const int shift = 32 + 8 * digit;
    if (count[(keys[0] >> shift) & 255] == n) continue;  // all keys share this digit
    std::uint32_t start = 0;
    for (int value = 0; value < kRadix; ++value) {
      const std::uint32_t here = count[value];
      count[value] = start;
      start += here;
    }
    for (std::size_t i = 0; i < n; ++i) spare[count[(keys[i] >> shift) & 255]++] = keys[i];
    std::swap(keys, spare);
  }
}

// Distributes the keys over twice as many buckets of equal width as there are rows, which leaves the
// keys nearly sorted. Returns false and changes nothing if values crowd into few buckets.
inline bool bucket_sort(Key*& keys, Key*& spare, const float* values, std::size_t n, float lowest,
                        float highest, std::vector<std::uint32_t>& scratch) {
  const std::size_t n_buckets = 2 * n;
  const float scale = static_cast<float>(n_buckets) / (highest - lowest);
  if (!(scale < 1e30f)) return false;
  scratch.assign(n_buckets + n, 0);
  std::uint32_t *starts = scratch.data(), *buckets = starts + n_buckets;
  const float last = static_cast<float>(n_buckets - 1);
  for (std::size_t i = 0; i < n; ++i) {
    const float place = (values[i] - lowest) * scale;
    buckets[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(place < last ? place : last));
  }
  for (std::size_t i = 0; i < n; ++i) ++starts[buckets[i]];
  std::uint32_t start = 0, fullest = 0;
  for (std::size_t bucket = 0; bucket < n_buckets; ++bucket) {
    const std::uint32_t here = starts[bucket];
    fullest = std::max(fullest, here);
    starts[bucket] = start;
    start += here;
  }
  if (fullest > 24) return false;
  for (std::size_t i = 0; i < n; ++i) spare[starts[buckets[i]]++] = keys[i];
  std::swap(keys, spare);
  insertion_sort(keys, n);
  return true;
}

// Keys must arrive with ascending rows.
inline void sort_keys(Key*& keys, Key*& spare, std::size_t n) {
  if (n <= 8) {
    insertion_sort(keys, n);
  } else if (n <= kMostRanked) {
    rank_sort(keys, spare, n);
  } else {
    radix_sort(keys, spare, n);
  }
}

// Sorts the keys of `values`, which lie between `lowest` and `highest`.
inline void sort_keys(Key*& keys, Key*& spare, const float* values, std::size_t n, float lowest,
                      float highest, std::vector<std::uint32_t>& scratch) {
  if (n > kMostRanked && n <= 4096 &&
      bucket_sort(keys, spare, values, n, lowest, highest, scratch)) {
    return;
  }
  sort_keys(keys, spare, n);
}

// Sorts keys whose values are whole numbers from `lowest` to `highest`, at most 255.
inline void sort_codes(Key*& keys, Key*& spare, std::size_t n, std::uint32_t lowest,
                       std::uint32_t highest) {
  constexpr std::size_t kRadix = 256;
  const std::size_t n_codes = highest - lowest + 1;
  if (n <= 16 || n_codes > 4 * n) return sort_keys(keys, spare, n);
  std::uint32_t starts[kRadix + 1];
  std::fill_n(starts, n_codes + 1, 0U);
  for (std::size_t i = 0; i < n; ++i) ++starts[key_bits(keys[i]) - lowest + 1];
  for (std::size_t code = 1; code < n_codes; ++code) starts[code] += starts[code - 1];
  for (std::size_t i = 0; i < n; ++i) spare[starts[key_bits(keys[i]) - lowest]++] = keys[i];
  std::swap(keys, spare);
}

}  // namespace jarf
