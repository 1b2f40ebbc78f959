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
  const char* socket = nullptr;
  const char* token = nullptr;
};

// As GPUPROF_SOCKET and GPUPROF_TOKEN say.
Address address_of_environment();

// Connects, says hello as `backend`, and maps the segment. Takes two seconds at most for each step. Leaves no file
// descriptor open. False: no address given, or the recorder did not answer as it should.
bool connect_recorder(const char* backend, const Address& address, Connection* connection);

}  // namespace gpuprof::injection
