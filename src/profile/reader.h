// Reads a profile from any descriptor (file or pipe). Only this code parses profile lines. Also converts the published
// forms of stall samples (FORMAT.md): WORK and GPU_PLACE records come before the first EUSTALL that needs them.
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
  // Consecutive lines of one frequent kind, or one record. line() is that of the last line. Empty: the input has ended.
  struct Batch {
    Record* record = nullptr;
    std::span<const Gpu> gpu;
    std::span<const EuStall> samples;
    std::span<const Share> shares;
    [[nodiscard]] bool at_end() const { return record == nullptr && gpu.empty() && samples.empty() && shares.empty(); }
  };

  // `name` names the input in errors. Fails if the input is not a profile, or has another major version.
  static Result<Reader> open(UniqueFd fd, std::string name, ReaderOptions options = {});

  static Result<Reader> open_text(std::string_view text, std::string name, ReaderOptions options = {});  // from memory

  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  // Returns the next record, or nullopt at the end of the input. A last line without a newline, which a killed
  // recorder leaves behind, is not parsed and sets cut_short().
  Result<std::optional<Record>> next();

  // Like next(), but many rows of one kind at a time, without copies. The batch is valid until the next call.
  Result<Batch> next_batch();

  // Makes an Error "NAME:LINE: what" for the line that next() returned last. For checks beyond the line's syntax.
  [[nodiscard]] Error error_here(std::string_view what) const;
  [[nodiscard]] Error error_at(uint64_t line, std::string_view what) const;  // like error_here(), for an earlier line

  [[nodiscard]] uint64_t line() const;             // 1-based, of the last record
  [[nodiscard]] bool is_published_form() const;    // stall samples of another tool, which have no END
  [[nodiscard]] uint64_t skipped_bad() const;      // lines skipped because of `lenient`
  [[nodiscard]] uint64_t skipped_unknown() const;  // records of unknown kinds
  [[nodiscard]] bool cut_short() const;
  // For callers that skip a record for their own reason under `lenient`: counts its line as bad, at most once per line.
  // Lines must come in ascending order.
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
