/*
 * How GPU code objects (cubins, zebins: hundreds of megabytes a process) reach the recorder: outside the rings, each
 * over its own connection to the handshake socket. Plain C, like wire.h.
 *
 *   target                                   recorder
 *   gpuprof_code_offer          ->                          instead of a gpuprof_hello
 *                               <-           gpuprof_code_answer
 *   gpuprof_code_file + memfd   ->                          only if the answer is GPUPROF_CODE_SEND
 *
 * The memfd is sealed against any change. The recorder trusts no claim of the target: it hashes the received bytes
 * itself.
 */
#ifndef GPUPROF_WIRE_CODE_H
#define GPUPROF_WIRE_CODE_H

#include <string.h> /* NOLINT(modernize-deprecated-headers): this is C, too */

#include "wire/hash.h"
#include "wire/wire.h"

/* The seals of the memfd (see fcntl.h). Nobody can change the bytes after the recorder has hashed them, and reads
 * cannot fail halfway. */
#define GPUPROF_CODE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

#define GPUPROF_CODE_MAGIC 0x43525047u /* "GPRC": the first word on a connection that sends code */

enum gpuprof_code_kind { GPUPROF_CODE_CUBIN = 1, GPUPROF_CODE_ZEBIN = 2, GPUPROF_CODE_KINDS = 3 };

/* The hash of all bytes of a code object. It does not protect against deliberate collisions. */
struct gpuprof_code_hash {
  uint64_t words[2];
};

struct gpuprof_code_offer {
  uint32_t magic;
  uint32_t version; /* GPUPROF_WIRE_VERSION */
  char token[32];
  uint32_t source_id; /* source id from the gpuprof_welcome of the process */
  uint32_t kind;      /* enum gpuprof_code_kind */
  uint64_t module;    /* the source's number for the module */
  uint64_t bytes;
  struct gpuprof_code_hash hash;
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_code_offer) == 80, "code offer layout");

enum gpuprof_code_word {
  GPUPROF_CODE_HAVE_IT = 1, /* the recorder has the bytes already, and has registered the module */
  GPUPROF_CODE_SEND = 2,
  GPUPROF_CODE_REFUSED = 3 /* not wanted, too large, over the limit of a session, or the process is not recorded */
};

struct gpuprof_code_answer {
  uint32_t magic;
  uint32_t word; /* enum gpuprof_code_word */
};
GPUPROF_STATIC_ASSERT(sizeof(struct gpuprof_code_answer) == 8, "code answer layout");

/* The memfd is sent with this as SCM_RIGHTS. */
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

/* Hashes the next bytes. Each call except the last must pass a multiple of 8 bytes. The hasher must be zeroed before
 * the first call. */
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
