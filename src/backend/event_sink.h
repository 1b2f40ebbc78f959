// Where backends deliver what they see. Implemented by src/record (correlate) and by test doubles.
// Calls come from the recorder's drain thread only.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpuprof::backend {

// One process image and backend; correlation ids and name ids belong to it.
using SourceId = uint32_t;

struct GpuOp {
  SourceId source = 0;
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t queued_ns = 0;
  uint64_t submitted_ns = 0;
  uint64_t bytes = 0;
  uint64_t stream = 0;
  uint32_t name_id = 0;
  uint32_t device = 0;
  uint16_t op = 0;    // enum gpuprof_op of wire/wire.h
  bool more = false;  // other ops of the same correlation may follow
};

class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  virtual void on_source(SourceId source, uint32_t pid, std::string_view backend) = 0;
  virtual void on_name(SourceId source, uint32_t id, std::string_view text) = 0;
  virtual void on_device(SourceId source, uint32_t device, uint32_t name_id) = 0;
  virtual void on_gpu_op(const GpuOp& op) = 0;
  virtual void on_launch(SourceId source, uint64_t correlation, uint32_t tid, std::string_view thread) = 0;
  virtual void on_meta(SourceId source, std::string_view text) = 0;
  // Counters that only grow; the sink takes differences itself.
  virtual void on_counters(SourceId source, uint64_t launches, const uint64_t (&lost)[16]) = 0;
  virtual void on_source_end(SourceId source) = 0;
};

}  // namespace gpuprof::backend
