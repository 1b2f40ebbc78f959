// Limits what gpuprof reads to name the addresses of a recording, and counts what was left out. Without limits, the
// target's files could delay the end of the recording, or use any amount of memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace gpuprof::symbolize {

// Limits for one recording, over all processes and files.
struct ReadingLimits {
  uint64_t perf_map_bytes = uint64_t{128} << 20;
  uint64_t perf_map_functions = 1 << 20;          // functions of all perf maps together
  uint64_t checksum_bytes = uint64_t{1} << 30;    // bytes read to compute the CRC of .gnu_debuglink
  uint64_t debug_info_bytes = uint64_t{1} << 30;  // memory for DWARF and .gnu_debugdata
  // Share of debug_info_bytes that files of other users may use.
  uint64_t others_debug_info_bytes = uint64_t{128} << 20;
  uint64_t symbols = 8 << 20;
  // Time to name the remaining addresses after the end of recording. It may take four times as long if gpuprof gets
  // less CPU time than this, because the machine is busy.
  uint64_t time_after_end_ns = 30'000'000'000;
  // Total time of debuginfod requests; not part of time_after_end_ns.
  uint64_t download_ns = uint64_t{120} * 1000000000;

  // The limits for files and memory, divided by two this many times.
  [[nodiscard]] ReadingLimits halved(uint64_t times) const;
};

class ReadingBudget {
 public:
  // Returns how many bytes of memory all readers together may still take. Called before each large read.
  using Headroom = std::function<uint64_t()>;

  // `room` may be empty in tests, for unlimited memory. It has no default, so that no parser forgets the session's
  // budget.
  ReadingBudget(const ReadingLimits& limits, Headroom room) : limits_(limits), room_(std::move(room)) {}

  // Call it before the budget is used.
  void set_limits(const ReadingLimits& limits) { limits_ = limits; }

  [[nodiscard]] uint64_t room() const { return room_ ? room_() : UINT64_MAX; }

  // How much was not read because of a limit.
  struct LeftOut {
    uint64_t perf_maps = 0;      // perf maps that were truncated
    uint64_t debug_links = 0;    // files whose CRC was not computed to compare it with .gnu_debuglink
    uint64_t debug_infos = 0;    // files whose DWARF or .gnu_debugdata was not read
    uint64_t symbol_tables = 0;  // symbol tables that were truncated
    uint64_t downloads = 0;      // files that were not requested from debuginfod
    uint64_t addresses = 0;      // addresses that were not named before the time limit
    uint64_t files = 0;          // files at which the process that reads them ended or took too long
    [[nodiscard]] bool nothing() const {
      return perf_maps + debug_links + debug_infos + symbol_tables + downloads + addresses + files == 0;
    }
  };
  [[nodiscard]] const LeftOut& left_out() const { return left_out_; }

  // Returns how many of the `wanted` bytes of a perf map may be read. If not all of them may, counts the map as
  // truncated.
  uint64_t take_perf_map(uint64_t wanted);
  // Counts a function of a perf map. Returns false if the limit of functions is reached.
  bool add_perf_map_function();
  void remove_perf_map_functions(uint64_t count) { perf_map_functions_ -= count; }

  // Takes `bytes` from the budget and returns true. If the budget holds less, takes nothing, counts the file as left
  // out and returns false.
  bool take_checksum(uint64_t bytes) {
    return take_whole(checksum_bytes_, limits_.checksum_bytes, bytes, left_out_.debug_links);
  }
  // `trusted`: root or gpuprof's user owns the file. Other files may use only a part of the budget, so that some
  // remains for later processes.
  bool take_debug_info(uint64_t bytes, bool trusted);
  // Returns whether a read may use `peak` bytes while it runs and `kept` bytes afterwards. Takes nothing from the
  // budget. If it returns false, it counts the file as left out.
  bool may_take_debug_info(uint64_t peak, uint64_t kept, bool trusted);

  uint64_t take_symbols(uint64_t wanted);

  // Returns whether debuginfod may be asked again. After each request, the caller passes its duration to
  // downloaded().
  bool may_download();
  void downloaded(uint64_t ns) { download_ns_ += ns; }

  // Starts the time limit, because the recording has ended. Thread-safe, unlike the other functions.
  void end(uint64_t now_ns, uint64_t cpu_ns) {
    end_cpu_ns_ = cpu_ns;
    end_ns_ = now_ns;
  }
  // Ends the time at `ns` (monotonic) even if the time limit has not passed: gpuprof itself must end soon. Thread-safe.
  void end_at(uint64_t ns) { latest_ns_ = ns; }
  [[nodiscard]] bool in_time() const;
  void leave_out_address() { ++left_out_.addresses; }
  void leave_out_file() { ++left_out_.files; }
  // Adds what another process has left out since it said `before`.
  void leave_out_more(const LeftOut& before, const LeftOut& now);

 private:
  static uint64_t take_part(uint64_t& used, uint64_t limit, uint64_t wanted, uint64_t most, uint64_t& left_out);
  static bool take_whole(uint64_t& used, uint64_t limit, uint64_t wanted, uint64_t& left_out);

  ReadingLimits limits_;
  Headroom room_;
  LeftOut left_out_;
  uint64_t perf_map_bytes_ = 0;
  uint64_t perf_map_functions_ = 0;
  uint64_t checksum_bytes_ = 0;
  uint64_t debug_info_bytes_ = 0;
  uint64_t others_debug_info_bytes_ = 0;
  uint64_t symbols_ = 0;
  uint64_t download_ns_ = 0;
  std::atomic<uint64_t> end_ns_{UINT64_MAX};  // CLOCK_MONOTONIC; UINT64_MAX while the recording runs
  std::atomic<uint64_t> latest_ns_{UINT64_MAX};
  std::atomic<uint64_t> end_cpu_ns_{0};  // CPU time that gpuprof had used at end_ns_
};

}  // namespace gpuprof::symbolize
