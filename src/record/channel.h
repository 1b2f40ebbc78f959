// The recorder's end of the wire: accepts target processes on a socket, gives each a shared-memory segment, and
// drains the segments. Bytes become EventSink calls in wire_decoder.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/event_sink.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/wire_decoder.h"

namespace gpuprof::record {

struct ChannelOptions {
  bool launch_records = false;  // ask targets for LAUNCH records (there is no other source of launches)
};

class Channel {
 public:
  static Result<std::unique_ptr<Channel>> open(const ChannelOptions& options);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The variables that let a target find this channel.
  void prepare(backend::LaunchEnv& env) const;

  // Descriptors whose readability means that there is something to do now (new processes, ended ones).
  void add_poll_fds(std::vector<pollfd>& fds) const;

  // Takes in new processes.
  void accept_all(backend::EventSink& sink);

  // Remembers how far each ring is filled. Launches of the GPU work up to here have reached the stack engine.
  void snapshot();

  // Decodes up to the last snapshot. Returns the number of bytes.
  size_t drain(backend::EventSink& sink);

  // Asks all targets to flush (true) or tells whether all live ones have answered.
  void request_flush();
  [[nodiscard]] bool all_flushed() const;
  void disable_all();  // targets stop recording

  [[nodiscard]] size_t live_sources() const;
  [[nodiscard]] const DecodeCounts& decode_counts() const { return counts_; }
  [[nodiscard]] uint64_t refused() const { return refused_; }  // processes of ours that could not be recorded

  // What our own code cost in the targets, from the sampled launches.
  struct Overhead {
    uint64_t samples = 0;
    uint64_t ns = 0;
  };
  [[nodiscard]] Overhead overhead() const { return overhead_; }

 private:
  struct Source;
  explicit Channel(const ChannelOptions& options);
  void accept_one(int connection, backend::EventSink& sink);
  size_t drain_source(Source& source, backend::EventSink& sink);
  void report_counters(Source& source, backend::EventSink& sink);

  ChannelOptions options_;
  std::string name_;  // of the abstract socket
  std::string token_;
  UniqueFd listener_;
  std::vector<std::unique_ptr<Source>> sources_;
  uint32_t next_source_ = 1;
  uint64_t refused_ = 0;
  DecodeCounts counts_;
  Overhead overhead_;
  std::vector<std::byte> copy_;  // a record span out of shared memory, so that it can not change while decoded
};

}  // namespace gpuprof::record
