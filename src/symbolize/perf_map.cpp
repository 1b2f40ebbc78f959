#include "symbolize/perf_map.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace gpuprof::symbolize {
namespace {

constexpr size_t kMaxMapName = 64 << 10;
constexpr size_t kMaxLine = kMaxMapName + 64;  // a name and the two numbers before it
constexpr size_t kMapChunk = 256 << 10;

// Removes a hex number and the space after it from the front of `line`.
bool take_hex(std::string_view& line, uint64_t& value) {
  if (line.starts_with("0x") || line.starts_with("0X")) {
    line.remove_prefix(2);
  }
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  const auto used = static_cast<size_t>(end - line.data());
  if (error != std::errc{} || used == line.size() || line[used] != ' ') {
    return false;
  }
  line.remove_prefix(used + 1);
  return true;
}

}  // namespace

void PerfMap::forget(ReadingBudget& budget) {
  budget.remove_perf_map_functions(functions_.size());
  consumed_ = 0;
  read_to_ = 0;
  functions_.clear();
  names_.clear();
}

bool PerfMap::is_open() const {
  struct stat status {};
  return fd_ && ::fstat(fd_.get(), &status) == 0 && status.st_nlink != 0;
}

// Prefers the folder that is already open: when the last process of a mount namespace ends, the process's root shows
// another /tmp.
void PerfMap::open(const FileAccess& access) {
  UniqueFd fd = folder_ ? open_regular_no_link({folder_.get(), access.rights}, path_.substr(path_.rfind('/')))
                        : open_regular_no_link(access, path_);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return;
  }
  if (status.st_uid != 0 && status.st_uid != owner_) {
    return;
  }
  struct stat known {};
  if (fd_ && ::fstat(fd_.get(), &known) == 0 && known.st_dev == status.st_dev && known.st_ino == status.st_ino) {
    return;
  }
  fd_ = std::move(fd);
  replaced_ = true;
}

void PerfMap::refresh(ReadingBudget& budget) {
  struct stat status {};
  if (!fd_ || ::fstat(fd_.get(), &status) != 0) {
    return;
  }
  const auto size = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
  if (size < consumed_ || std::exchange(replaced_, false)) {
    forget(budget);  // the file was rewritten from the start
  }
  if (size > consumed_ && size != read_to_) {
    read_appended(size, budget);
  }
}

// Parses complete lines only. An incomplete last line is read again when the file grows.
void PerfMap::read_appended(uint64_t size, ReadingBudget& budget) {
  const uint64_t end = consumed_ + budget.take_perf_map(size - consumed_);
  read_to_ = size;
  std::vector<char> chunk(kMapChunk);
  std::string line;
  uint64_t line_bytes = 0;
  for (uint64_t at = consumed_; at < end;) {
    const size_t want = std::min<uint64_t>(chunk.size(), end - at);
    const ssize_t got = ::pread(fd_.get(), chunk.data(), want, static_cast<off_t>(at));
    if (got <= 0 || !budget.in_time()) {
      return;
    }
    at += static_cast<uint64_t>(got);
    std::string_view rest(chunk.data(), static_cast<size_t>(got));
    for (size_t newline = rest.find('\n'); newline != std::string_view::npos; newline = rest.find('\n')) {
      consumed_ += line_bytes + newline + 1;
      line.append(rest.substr(0, std::min(newline, kMaxLine - line.size())));
      add_line(line, budget);
      line.clear();
      line_bytes = 0;
      rest.remove_prefix(newline + 1);
    }
    line.append(rest.substr(0, kMaxLine - line.size()));
    line_bytes += rest.size();
  }
}

void PerfMap::add_line(std::string_view line, ReadingBudget& budget) {
  uint64_t start = 0;
  uint64_t size = 0;
  if (!take_hex(line, start) || !take_hex(line, size) || line.empty() || size == 0 || start + size < start) {
    return;
  }
  // Compilers reuse memory, so a new function replaces older ones in its address range.
  const uint64_t end = start + size;
  auto overlapped = functions_.lower_bound(start);
  if (overlapped != functions_.begin() && std::prev(overlapped)->second.end > start) {
    --overlapped;
  }
  while (overlapped != functions_.end() && overlapped->first < end) {
    overlapped = functions_.erase(overlapped);
    budget.remove_perf_map_functions(1);
  }
  if (!budget.add_perf_map_function()) {
    return;
  }
  const std::string_view name = line.substr(0, kMaxMapName);
  functions_.emplace(start, Function{end, names_.size(), static_cast<uint32_t>(name.size())});
  names_ += name;
}

std::string_view PerfMap::find(uint64_t address) const {
  auto after = functions_.upper_bound(address);
  if (after == functions_.begin()) {
    return {};
  }
  const Function& function = std::prev(after)->second;
  return address < function.end ? std::string_view(names_).substr(function.name, function.name_size)
                                : std::string_view{};
}

}  // namespace gpuprof::symbolize
