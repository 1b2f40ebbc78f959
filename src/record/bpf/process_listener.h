// Who is told of the processes of a recording, as ProcessNews come: whoever walks their stacks by tables.
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

  // A process is about to launch, or has new mappings: tables for its files are made ready. Called while it is held in
  // the handshake, and whenever its mappings have been read again. Who has no tables does nothing.
  // These three are called on another thread than the rest, one at a time: making tables takes seconds.
  virtual void on_process(const symbolize::ProcessMaps& maps) = 0;
  // The process runs a Python with this layout.
  virtual void on_python(uint32_t pid, const gpuprof_python_layout& layout) = 0;
  virtual void on_process_end(uint32_t pid) = 0;
  // on_process() will be called for this pid, but maybe not for seconds. `anew`: the pid belongs to a new program, and
  // what was said of it before does not hold. May be called while another thread is in one of the three above.
  virtual void expect_process(uint32_t /*pid*/, bool /*anew*/) {}
};

}  // namespace gpuprof::record
