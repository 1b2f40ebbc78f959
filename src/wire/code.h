/*
 * How GPU code (a cubin, a zebin: hundreds of megabytes a process) comes from a target to the recorder: beside the
 * rings, each object over a connection of its own to the socket of the handshake. Plain C, as wire.h.
 *
 *   target                                   recorder
 *   gpuprof_code_offer          ->                          instead of a gpuprof_hello
 *                               <-           gpuprof_code_answer
 *   gpuprof_code_file + memfd   ->                          only where the answer is GPUPROF_CODE_SEND
 *
 * The memfd is sealed against any change. The recorder believes nothing that it has not looked at: it hashes what has
 * come itself.
 */
#ifndef GPUPROF_WIRE_CODE_H
#define GPUPROF_WIRE_CODE_H

#include <string.h> /* NOLINT(modernize-deprecated-headers): this is C, too */

#include "wire/hash.h"
#include "wire/wire.h"

/* Of the memfd (fcntl.h): what is hashed is what is kept, and no read of it can fail half way. */
#define GPUPROF_CODE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

#define GPUPROF_CODE_MAGIC 0x43525047u /* "GPRC": the first word of a connection that brings code */

enum gpuprof_code_kind { GPUPROF_CODE_CUBIN = 1, GPUPROF_CODE_ZEBIN = 2, GPUPROF_CODE_KINDS = 3 };

/* Of all bytes of an object. Tells objects apart that nobody has made to look alike. */
struct gpuprof_code_hash {
  uint64_t words[2];
};

struct gpuprof_code_offer {
  uint32_t magic;
  uint32_t version; /* GPUPROF_WIRE_VERSION */
  char token[32];
  uint32_t source_id; /* of the process's welcome */
  uint32_t kind;      /* enum gpuprof_code_kind */
  uint64_t module;    /* the source's own number for it */
  uint64_t bytes;
  struct gpuprof_code_hash hash;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_code_offer) == 80, "code offer layout");

enum gpuprof_code_word {
  GPUPROF_CODE_HAVE_IT = 1, /* nothing needs to be sent: the module is known now */
  GPUPROF_CODE_SEND = 2,
  GPUPROF_CODE_REFUSED = 3 /* not wanted, too big, no room left, or not from a process that is recorded */
};

struct gpuprof_code_answer {
  uint32_t magic;
  uint32_t word; /* enum gpuprof_code_word */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_code_answer) == 8, "code answer layout");

/* Sent with the memfd as SCM_RIGHTS. */
struct gpuprof_code_file {
  uint32_t magic;
  uint32_t pad;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_code_file) == 8, "code file layout");

/* ---- the hash -------------------------------------------------------------------------------------------- */

struct gpuprof_code_hasher {
  struct gpuprof_code_hash lanes;
  uint64_t bytes;
};

static inline void gpuprof_code_hash_word(struct gpuprof_code_hasher* hasher, uint64_t word) {
  uint64_t* const lanes = hasher->lanes.words;
  lanes[0] = gpuprof_fold_multiply(lanes[0] ^ word, GPUPROF_HASH_MULTIPLIER) + 1;
  lanes[1] = gpuprof_fold_multiply(lanes[1] ^ word, GPUPROF_OTHER_MULTIPLIER) + 1;
}

/* Some of the bytes: whole words, but for the last call. Start with a hasher of zeros. */
static inline void gpuprof_code_hash_add(struct gpuprof_code_hasher* hasher, const void* bytes, size_t size) {
  const unsigned char* at = (const unsigned char*)bytes;
  hasher->bytes += size;
  while (size > 0) {
    uint64_t word = 0;
    const size_t some = size < sizeof(word) ? size : sizeof(word);
    memcpy(&word, at, some);
    gpuprof_code_hash_word(hasher, word);
    at += some;
    size -= some;
  }
}

static inline struct gpuprof_code_hash gpuprof_code_hash_end(struct gpuprof_code_hasher* hasher) {
  gpuprof_code_hash_word(hasher, hasher->bytes);
  return hasher->lanes;
}

#endif /* GPUPROF_WIRE_CODE_H */
