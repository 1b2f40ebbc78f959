// Resets all parts of the library for a new recorder, which has received nothing yet.
#pragma once

namespace gpuprof::injection {

struct ConnectionReset {
  void (*new_connection)();    // called before a new connection, while other threads of the process keep running
  void (*child_connection)();  // called before a forked child first connects, when only the forking thread exists
};

// Calls all resets. `child`: in a forked child, on a launching thread.
void reset_for_connection(bool child);

}  // namespace gpuprof::injection
