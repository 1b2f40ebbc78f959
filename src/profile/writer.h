// Writes a profile line by line, append-only. Only this code formats profile lines.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/records.h"

namespace gpuprof::profile {

// Appends the record's line, with its newline, to `out`. Appends nothing for Unknown.
void format_line(const Record& record, std::string& out);

void format_header(std::string& out);

// Buffers lines and writes them to a descriptor in complete lines.
class Writer {
 public:
  // If `give_up` is set and becomes true, the writer stops waiting for a pipe whose reader reads nothing.
  explicit Writer(UniqueFd fd, const std::atomic<bool>* give_up = nullptr);

  void header() { format_header(buffer_); }
  void add(const Record& record);

  // Writes the buffered lines; add() also calls it. After a failure this and all later calls return the error.
  Status flush();

  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_; }

 private:
  UniqueFd fd_;
  const std::atomic<bool>* give_up_ = nullptr;  // only used for descriptors that can block
  std::string buffer_;
  uint64_t bytes_written_ = 0;
  std::optional<Error> failed_;
};

}  // namespace gpuprof::profile
