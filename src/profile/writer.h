// Writes a profile, line by line, append-only. Nobody else formats a profile line.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/records.h"

namespace gpuprof::profile {

// Appends the record's line, with its newline, to `out`. Unknown appends nothing.
void format_line(const Record& record, std::string& out);

// The first line.
void format_header(std::string& out);

// Buffers lines and writes them to a descriptor in whole lines.
class Writer {
 public:
  // `give_up`, where it is set: whoever is to read a pipe and takes nothing is not waited for any more.
  explicit Writer(UniqueFd fd, const std::atomic<bool>* give_up = nullptr);

  void header() { format_header(buffer_); }
  void add(const Record& record);

  // Writes what is buffered, which add() does by itself where that has become much. After a failure (disk full, closed
  // pipe) the error stays and later calls return it.
  Status flush();

  [[nodiscard]] uint64_t bytes_written() const { return bytes_written_; }

 private:
  UniqueFd fd_;
  const std::atomic<bool>* give_up_ = nullptr;  // of what may block only
  std::string buffer_;
  uint64_t bytes_written_ = 0;
  std::optional<Error> failed_;
};

}  // namespace gpuprof::profile
