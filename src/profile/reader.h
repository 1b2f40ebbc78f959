// Reads a profile from any descriptor, such as a file or a pipe. All parsing of profile lines is here. Also converts
// the published forms of stall samples (see FORMAT.md): WORK and GPU_PLACE records then come before the first EUSTALL
// that refers to them.
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
  // Several consecutive lines of one frequent kind, or one record of any kind. line() is the number of the last line.
  // Empty at the end of the input.
  struct Batch {
    Record* record = nullptr;
    std::span<const Gpu> gpu;
    std::span<const EuStall> samples;
    std::span<const Share> shares;
    [[nodiscard]] bool at_end() const { return record == nullptr && gpu.empty() && samples.empty() && shares.empty(); }
  };

  // Errors name the input by `name`. Fails if the input is not a profile, or if its major version is not supported.
  static Result<Reader> open(UniqueFd fd, std::string name, ReaderOptions options = {});

  static Result<Reader> open_text(std::string_view text, std::string name, ReaderOptions options = {});

  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  // Returns the next record, or nullopt at the end of the input. A killed recorder may leave a last line without a
  // newline: this line is not parsed, and sets cut_short().
  Result<std::optional<Record>> next();

  // Like next(), but returns many rows of one kind at a time, without copying them. A batch is valid until the next
  // call.
  Result<Batch> next_batch();

  // Returns an Error "NAME:LINE: what" about the line of the last record. For checks of more than the line's syntax.
  [[nodiscard]] Error error_here(std::string_view what) const;
  // Like error_here(), but about the line number `line`.
  [[nodiscard]] Error error_at(uint64_t line, std::string_view what) const;

  [[nodiscard]] uint64_t line() const;             // line number of the last record; the first line is 1
  [[nodiscard]] bool is_published_form() const;    // the input has stall samples of another tool, and no END
  [[nodiscard]] uint64_t skipped_bad() const;      // number of lines skipped because of `lenient`
  [[nodiscard]] uint64_t skipped_unknown() const;  // number of skipped records of unknown kinds
  [[nodiscard]] bool cut_short() const;
  // Counts a line as bad. For callers that, with `lenient`, skip a record for their own reason. Counts each line only
  // once. The line numbers must ascend.
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
