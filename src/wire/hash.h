/* Hash functions for BPF programs, injection libraries, recorder and readers (not cryptographic). Plain C, no libc. */
#ifndef GPUPROF_WIRE_HASH_H
#define GPUPROF_WIRE_HASH_H

/* A multiplier that spreads a key over the upper bits. It is odd, and its bits have no pattern (2^64 over the golden
 * ratio). */
#define GPUPROF_HASH_MULTIPLIER 0x9e3779b97f4a7c15ull
/* Another multiplier, for keys that need two independent hashes. */
#define GPUPROF_OTHER_MULTIPLIER 0xd6e8feb86659fd93ull

static inline unsigned long long gpuprof_mix_hash(unsigned long long hash, unsigned long long word) {
  hash = (hash ^ word) * GPUPROF_HASH_MULTIPLIER;
  return hash ^ (hash >> 29);
}

#ifndef __bpf__ /* BPF has no 128-bit integers */
/* Multiplies, and combines both halves of the product, so that every bit of both arguments affects every bit of the
 * result. The product of 0 is 0, so one argument should be odd or seeded. */
static inline unsigned long long gpuprof_fold_multiply(unsigned long long a, unsigned long long b) {
  __extension__ typedef unsigned __int128 wide; /* NOLINT(modernize-use-using) */
  const wide product = (wide)a * b;
  return (unsigned long long)product ^ (unsigned long long)(product >> 64);
}
#endif

#endif /* GPUPROF_WIRE_HASH_H */
