// Writes a profile line by line, only by appending. All formatting of profile lines is here.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/records.h"

namespace gpuprof::profile {

// Appends the line of the record, with its newline, to `out`. Appends nothing for Unknown.
void format_line(const Record& record, std::string& out);

void format_header(std::string& out);

// Buffers lines, and writes only complete lines to a descriptor.
class Writer {
 public:
  // If `give_up` is not null and becomes true, the writer no longer waits for a pipe whose reader has stopped
  // reading.
  explicit Writer(UniqueFd fd, const std::atomic<bool>* give_up = nullptr);

  void header() { format_header(buffer_); }
  void add(const Record& record);
  void add_lines(std::string_view lines);  // complete lines

  // Writes the buffered lines. add() calls it, too. After a failure, this and all later calls return the error.
  Status flush();

  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_; }

 private:
  void flush_if_full();

  UniqueFd fd_;
  const std::atomic<bool>* give_up_ = nullptr;  // null if the descriptor cannot block
  std::string buffer_;
  uint64_t bytes_written_ = 0;
  std::optional<Error> failed_;
};

}  // namespace gpuprof::profile
