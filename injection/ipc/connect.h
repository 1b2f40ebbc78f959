// The handshake with the recorder (wire/wire.h).
#pragma once

#include "wire/wire.h"

namespace gpuprof::injection {

struct Connection {
  gpuprof_segment* segment = nullptr;
  uint32_t source = 0;
};

// Where the recorder listens, and what proves that it knows of us. Null: not given.
struct Address {
  static constexpr int64_t kNobody = -1;
  const char* socket = nullptr;
  const char* token = nullptr;
  int64_t user = kNobody;  // whom the recorder runs as: nothing is said to anybody else
};

// A connection to the recorder, nothing said yet; each send and receive on it waits for GPUPROF_HANDSHAKE_WAIT_NS
// at most. -1: no address given, nobody listens there, or somebody else. The caller has thread cancellation switched
// off.
int open_connection(const Address& address);

// As GPUPROF_SOCKET, GPUPROF_TOKEN and GPUPROF_UID say.
Address address_of_environment();

// What the recorder is told of us.
struct Introduction {
  const char* backend;
  gpuprof_python_layout python;  // version 0: no interpreter has been found
};

// Connects, makes the handshake, and maps the segment. Each step takes GPUPROF_HANDSHAKE_WAIT_NS at most. Leaves no
// file descriptor open. False: no address given, somebody else listens there, or the recorder did not answer as it
// should.
bool connect_recorder(const Introduction& who, const Address& address, Connection* connection);

}  // namespace gpuprof::injection
