// What the parts of the library forget when there is a new recorder to be told everything. All parts are in one table,
// in the order in which they are called.
#pragma once

namespace gpuprof::injection {

struct Part {
  void (*new_connection)();    // before one in a process that may have had one; its threads go on meanwhile
  void (*child_connection)();  // before the first one of a forked child: threads of the parent's are not there
};

// Calls all parts. On a launching thread where `child`.
void reset_parts(bool child);

}  // namespace gpuprof::injection
