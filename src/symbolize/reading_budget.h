// How much is read to name the addresses of one recording. A target chooses the files that it maps, and what they lead
// to: however large they are, a recording ends soon after its target, in bounded memory. What is left out is counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace gpuprof::symbolize {

// Of a whole recording, over all its processes and files.
struct ReadingLimits {
  uint64_t perf_map_bytes = uint64_t{128} << 20;
  uint64_t perf_map_functions = 1 << 20;                   // known at a time
  uint64_t checksum_bytes = uint64_t{1} << 30;             // of files that a .gnu_debuglink may mean
  uint64_t debug_info_bytes = uint64_t{1} << 30;           // held in memory: DWARF and unpacked .gnu_debugdata
  uint64_t others_debug_info_bytes = uint64_t{128} << 20;  // ... of files that are neither root's nor our user's
  uint64_t symbols = 8 << 20;                              // of all symbol tables
  uint64_t time_after_end_ns = 30'000'000'000;             // to name what is still to be named when recording has ended
  uint64_t download_ns = uint64_t{120} * 1000000000;       // waiting for debuginfod; not part of the time after the end
};

class ReadingBudget {
 public:
  // Bytes of memory that may still be taken, whoever takes them. Asked before anything large is read.
  using Room = std::function<uint64_t()>;

  explicit ReadingBudget(const ReadingLimits& limits = {}, Room room = {}) : limits_(limits), room_(std::move(room)) {}

  [[nodiscard]] uint64_t room() const { return room_ ? room_() : UINT64_MAX; }

  // What was asked for and not read, by the limit that stood against it.
  struct LeftOut {
    uint64_t perf_maps = 0;      // readings that were cut short
    uint64_t debug_links = 0;    // files that were not compared with a .gnu_debuglink
    uint64_t debug_infos = 0;    // files whose DWARF or .gnu_debugdata was not read
    uint64_t symbol_tables = 0;  // that were cut short
    uint64_t downloads = 0;      // files that debuginfod was not asked for
    uint64_t addresses = 0;      // that were still to be named when the time was over
    [[nodiscard]] bool nothing() const {
      return perf_maps + debug_links + debug_infos + symbol_tables + downloads + addresses == 0;
    }
  };
  [[nodiscard]] const LeftOut& left_out() const { return left_out_; }

  // Bytes, up to `wanted`, that may be read of a perf map; counted where they are fewer.
  uint64_t take_perf_map(uint64_t wanted);
  // Functions of perf maps come and go.
  bool add_perf_map_function();
  void remove_perf_map_functions(uint64_t count) { perf_map_functions_ -= count; }

  // All or nothing, counted where it is nothing.
  bool take_checksum(uint64_t bytes) {
    return take_whole(checksum_bytes_, limits_.checksum_bytes, bytes, left_out_.debug_links);
  }
  // `trusted`: of a file of root's or our own user's. Nobody else's files may take so much that processes that come
  // later go without their detail.
  bool take_debug_info(uint64_t bytes, bool trusted);
  // The same for what takes `peak` bytes while it is read, of which at most `kept` stay: those are to be taken then.
  bool may_take_debug_info(uint64_t peak, uint64_t kept, bool trusted);

  // Symbols, up to `wanted`, that a table may have.
  uint64_t take_symbols(uint64_t wanted);

  // Whether debuginfod may be asked once more, and how long that took.
  bool may_download();
  void downloaded(uint64_t ns) { download_ns_ += ns; }

  // The recording has ended: from now on time counts. The only function that another thread may call.
  void end(uint64_t now_ns) { end_ns_ = now_ns; }
  [[nodiscard]] bool in_time() const;
  void leave_out_address() { ++left_out_.addresses; }

 private:
  static uint64_t take_part(uint64_t& used, uint64_t limit, uint64_t wanted, uint64_t most, uint64_t& left_out);
  static bool take_whole(uint64_t& used, uint64_t limit, uint64_t wanted, uint64_t& left_out);

  ReadingLimits limits_;
  Room room_;
  LeftOut left_out_;
  uint64_t perf_map_bytes_ = 0;
  uint64_t perf_map_functions_ = 0;
  uint64_t checksum_bytes_ = 0;
  uint64_t debug_info_bytes_ = 0;
  uint64_t others_debug_info_bytes_ = 0;
  uint64_t symbols_ = 0;
  uint64_t download_ns_ = 0;
  std::atomic<uint64_t> end_ns_{UINT64_MAX};  // CLOCK_MONOTONIC; UINT64_MAX: recording goes on
};

}  // namespace gpuprof::symbolize
