// Reads a profile, a record at a time, from any descriptor (file or pipe). Nobody else parses a profile line.
// Also reads the published form of stall samples (no header line; values not escaped): next() gives records of our own
// for it, a WORK or GPU_PLACE in front of the first EUSTALL that needs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/records.h"

namespace gpuprof::profile {

struct ReaderOptions {
  bool lenient = false;  // skip lines that can not be parsed, and count them
};

class Reader {
 public:
  // Lines of one of the kinds that come by the million, one directly after another, the last one in line(); or one
  // record of any kind. Nothing at all is the end of the input.
  struct Batch {
    Record* record = nullptr;
    std::span<const Gpu> gpu;
    std::span<const EuStall> samples;
    std::span<const Share> shares;
    [[nodiscard]] bool at_end() const { return record == nullptr && gpu.empty() && samples.empty() && shares.empty(); }
  };

  // `name` is what errors call the input ("gpuprof.txt", "stdin"). Fails if the first line is not a profile's
  // or its major version is another than ours.
  static Result<Reader> open(UniqueFd fd, std::string name, ReaderOptions options = {});

  static Result<Reader> open_text(std::string_view text, std::string name, ReaderOptions options = {});  // from memory

  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  // The next record; nullopt at the end of the input. A last line without a newline is what a killed recorder
  // leaves behind: it is not parsed, and cut_short() says so.
  Result<std::optional<Record>> next();

  // The same for who reads a whole profile: many records at a time where they are alike, and no copies. Valid until
  // the next call.
  Result<Batch> next_batch();

  // An Error with "NAME:LINE: what" for the line that next() returned last; for checks above the line's syntax.
  [[nodiscard]] Error error_here(std::string_view what) const;
  [[nodiscard]] Error error_at(uint64_t line, std::string_view what) const;  // the same for an earlier line

  [[nodiscard]] uint64_t line() const;             // 1-based, of the last record
  [[nodiscard]] bool is_published_form() const;    // which has no END
  [[nodiscard]] uint64_t skipped_bad() const;      // lines skipped by `lenient`
  [[nodiscard]] uint64_t skipped_unknown() const;  // records of unknown kinds
  [[nodiscard]] bool cut_short() const;
  // Due from a caller that skips a record for a reason of its own under `lenient`, in the order of the lines. Counts a
  // line once, as one of the published form can hold several records.
  void count_bad(uint64_t line);
  void count_bad() { count_bad(line()); }
  [[nodiscard]] bool lenient() const;

 private:
  struct State;
  Status read_record(std::optional<Record>& record);
  static Result<Reader> open(std::unique_ptr<State> state);
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::profile
