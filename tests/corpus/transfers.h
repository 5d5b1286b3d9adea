// Writes down, in transfers.txt, how many bytes each copy to the host brought, and a
// hash of them. A program's own check may be weak; this sees every bit the host gets.
#pragma once
#include <cstdint>
#include <cstdio>

// FNV-1a over 64-bit words, then over the bytes left.
inline uint64_t hashOfTransfer(const unsigned char *data, size_t bytes) {
  uint64_t hash = 14695981039346656037u;
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    __builtin_memcpy(&word, data + i, 8);
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 29; // the product alone would not carry a word's high bits down
  }
  for (; i < bytes; ++i)
    hash = (hash ^ data[i]) * 1099511628211u;
  return hash;
}

inline void recordTransfer(const void *dst, size_t bytes) {
  static FILE *file = fopen("transfers.txt", "w");
  if (!file)
    return;
  fprintf(file, "%zu %016llx\n", bytes, (unsigned long long)hashOfTransfer((const unsigned char *)dst, bytes));
  fflush(file);
}
