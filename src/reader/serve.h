// The reader's side: answers requests until the recorder closes the socket.
#pragma once

#include <cstdint>
#include <functional>

namespace gpuprof::reader {

struct ServeOptions {
  // Returns the memory that this process uses, in bytes.
  std::function<uint64_t()> memory = [] { return uint64_t{0}; };
  int most_seconds = 3600;  // the process ends if an answer takes longer; needs watch_recorder()
};

// Makes the process end soon after the recorder has been killed, even while it parses. Call it before
// confine_to_answers().
void watch_recorder(int socket);

// `socket` is the other end of Connection::socket. Takes no right away: the caller has done that.
void serve(int socket, const ServeOptions& options);

}  // namespace gpuprof::reader
