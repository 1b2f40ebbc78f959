// Hands GPU code to the recorder, beside the rings (wire/code.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/connect.h"
#include "wire/code.h"

namespace gpuprof::injection {

struct Code {
  gpuprof_code_kind kind;
  uint64_t module;  // our number for it
  const void* bytes;
  size_t size;
};

// True: the recorder has this very code, or it is on its way there. False: it does not want it, or is not there. Hashes
// all of the code, and copies it where the recorder has not seen it: not to be called where the target waits for less
// than that. Waits GPUPROF_HANDSHAKE_WAIT_NS at most for each answer, and allocates no memory of the process's own.
bool hand_over_code(const Address& address, uint32_t source, const Code& code);

}  // namespace gpuprof::injection
