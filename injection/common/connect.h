// The handshake with the recorder (wire/wire.h).
#pragma once

#include "wire/wire.h"

namespace gpuprof::injection {

struct Connection {
  gpuprof_segment* segment = nullptr;
  uint32_t source = 0;
};

// Connects, says hello as `backend`, and maps the segment. Takes two seconds at most for each step. Leaves no file
// descriptor open. False: no recorder named in the environment, or it did not answer as it should.
bool connect_recorder(const char* backend, Connection* connection);

}  // namespace gpuprof::injection
