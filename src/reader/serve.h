// The reader's side: answers requests until the recorder closes the socket.
#pragma once

#include <cstdint>
#include <functional>

namespace gpuprof::reader {

struct ServeOptions {
  // Returns the memory that this process uses, in bytes.
  std::function<uint64_t()> memory = [] { return uint64_t{0}; };
  uint64_t most_seconds = 0;  // the process is killed if an answer takes longer; 0: unlimited
};

// `socket` is the other end of Connection::socket. Takes no right away: the caller has done that.
void serve(int socket, const ServeOptions& options);

}  // namespace gpuprof::reader
