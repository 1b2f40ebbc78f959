// Sends GPU code to the recorder, outside the rings (wire/code.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/connect.h"
#include "wire/code.h"

namespace gpuprof::injection {

struct Code {
  gpuprof_code_kind kind;
  uint64_t module;  // module number, chosen by this process
  const void* bytes;
  size_t size;
};

// Returns true if the recorder has the code or gets it now. Returns false if the recorder refuses it or is gone. Hashes
// the code, and copies it if it must be sent, so do not call it where the target would wait. Waits at most
// GPUPROF_HANDSHAKE_WAIT_NS per answer. Does not use malloc.
bool send_code(const Address& address, uint32_t source, const Code& code);

}  // namespace gpuprof::injection
