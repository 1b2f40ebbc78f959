// Receives events about the processes of a recording, for components that walk their stacks by tables.
#pragma once

#include <cstdint>

#include "symbolize/process_maps.h"
#include "wire/stack.h"

namespace gpuprof::record {

class ProcessListener {
 public:
  ProcessListener() = default;
  ProcessListener(const ProcessListener&) = delete;
  ProcessListener& operator=(const ProcessListener&) = delete;
  virtual ~ProcessListener() = default;

  // Prepares tables for the files of a process. Called before its first launch (while it waits in its handshake), and
  // whenever its mappings have been read. Does nothing in an engine without tables. This function and the next two run
  // on the feed's thread, one at a time, because building tables takes seconds.
  virtual void on_process(const symbolize::ProcessMaps& maps) = 0;
  virtual void on_python(uint32_t pid, const gpuprof_python_layout& layout) = 0;
  virtual void on_process_end(uint32_t pid) = 0;
  // Announces that on_process() will follow for this pid, perhaps seconds later. `anew`: the pid belongs to a new
  // program, so earlier information is void. Can run concurrently with the other functions.
  virtual void expect_process(uint32_t /*pid*/, bool /*anew*/) {}
};

}  // namespace gpuprof::record
