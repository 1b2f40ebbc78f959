// Receives events about the processes of a recording. Stack walkers that need tables implement it.
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

  // Prepares tables for the files of a process. The caller calls it before the first launch, while the process waits in
  // its handshake, and after each reading of the mappings. An engine without tables does nothing. The feed's thread
  // calls this function and the next two, one at a time, because building tables takes seconds.
  virtual void on_process(const symbolize::ProcessMaps& maps) = 0;
  virtual void on_python(uint32_t pid, const gpuprof_python_layout& layout) = 0;
  virtual void on_process_end(uint32_t pid) = 0;
  // Announces that on_process() will follow for this pid, perhaps seconds later. `anew`: the pid belongs to a new
  // program, so data about the earlier one is invalid. Any thread may call this function, even during calls of the
  // others.
  virtual void expect_process(uint32_t /*pid*/, bool /*anew*/) {}
  // The recording ends: the functions that prepare tables return soon, without the rest. Any thread may call it.
  virtual void end_soon() {}
};

}  // namespace gpuprof::record
