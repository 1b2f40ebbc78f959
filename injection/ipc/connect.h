// The handshake with the recorder (wire/wire.h).
#pragma once

#include "wire/wire.h"

namespace gpuprof::injection {

struct Connection {
  gpuprof_segment* segment = nullptr;
  uint32_t source = 0;
};

// Where the recorder listens, and the token that identifies the recording. Null members: not given.
struct Address {
  static constexpr int64_t kNobody = -1;
  const char* socket = nullptr;
  const char* token = nullptr;
  int64_t user = kNobody;  // User that the recorder runs as. The target talks to no other user.
};

// Connects, but sends nothing. Each later send and receive waits at most GPUPROF_HANDSHAKE_WAIT_NS. Returns -1 if no
// address is given or the recorder's user does not listen there. The caller must have disabled thread cancellation.
int open_connection(const Address& address);

// Reads GPUPROF_SOCKET, GPUPROF_TOKEN and GPUPROF_UID.
Address address_of_environment();

struct Introduction {
  const char* backend;
  gpuprof_python_layout python;  // version 0: no Python interpreter was found
};

// Connects, makes the handshake, and maps the segment. Each step waits at most GPUPROF_HANDSHAKE_WAIT_NS. Leaves no
// file descriptor open. Returns false without an address, or if the recorder's user does not listen there or gives no
// valid answer.
bool connect_recorder(const Introduction& who, const Address& address, Connection* connection);

}  // namespace gpuprof::injection
