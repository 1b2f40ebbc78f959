/*
 * Hashing, for all who run: BPF programs, libraries in targets, the recorder and the readers. None of it is
 * cryptographic. Plain C without libc.
 */
#ifndef GPUPROF_WIRE_HASH_H
#define GPUPROF_WIRE_HASH_H

/* Odd, and its bits have no pattern (2^64 over the golden ratio): a key times it differs in its upper bits. */
#define GPUPROF_HASH_MULTIPLIER 0x9e3779b97f4a7c15ull
/* Another such number, where two chains must differ. */
#define GPUPROF_OTHER_MULTIPLIER 0xd6e8feb86659fd93ull

/* One more word. */
static inline unsigned long long gpuprof_mix_hash(unsigned long long hash, unsigned long long word) {
  hash = (hash ^ word) * GPUPROF_HASH_MULTIPLIER;
  return hash ^ (hash >> 29);
}

#ifndef __bpf__ /* which has no numbers of 128 bits */
/*
 * Both halves of the product, folded: every bit of either argument reaches every bit of the result. 0 stays 0, so one
 * argument should be odd or seeded.
 */
static inline unsigned long long gpuprof_fold_multiply(unsigned long long a, unsigned long long b) {
  __extension__ typedef unsigned __int128 wide; /* NOLINT(modernize-use-using) */
  const wide product = (wide)a * b;
  return (unsigned long long)product ^ (unsigned long long)(product >> 64);
}
#endif

#endif /* GPUPROF_WIRE_HASH_H */
