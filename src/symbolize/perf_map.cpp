#include "symbolize/perf_map.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "symbolize/safe_open.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kMaxFile = uint64_t{256} << 20;
constexpr size_t kMaxFunctions = 4 << 20;
constexpr size_t kMaxName = 64 << 10;
constexpr size_t kChunk = 256 << 10;

// Takes a hex number and the space after it off the front of `line`.
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

void PerfMap::forget() {
  consumed_ = 0;
  functions_.clear();
  names_.clear();
}

bool PerfMap::open_file(int root_fd) {
  UniqueFd fd = open_regular_no_link(root_fd, path_);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return false;
  }
  if (::geteuid() == 0 && status.st_uid != 0 && status.st_uid != owner_) {
    return false;
  }
  fd_ = std::move(fd);
  return true;
}

void PerfMap::refresh(int root_fd) {
  if (!fd_ && !open_file(root_fd)) {
    return;
  }
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) {
    return;
  }
  const auto size = std::min(static_cast<uint64_t>(std::max<off_t>(status.st_size, 0)), kMaxFile);
  if (size < consumed_) {
    forget();  // written anew from the start
  }
  if (size > consumed_) {
    read_appended(size);
  }
}

void PerfMap::read_appended(uint64_t size) {
  std::vector<char> chunk(kChunk);
  std::string line;
  for (uint64_t at = consumed_; at < size;) {
    const size_t want = std::min<uint64_t>(chunk.size(), size - at);
    const ssize_t got = ::pread(fd_.get(), chunk.data(), want, static_cast<off_t>(at));
    if (got <= 0) {
      return;
    }
    at += static_cast<uint64_t>(got);
    std::string_view rest(chunk.data(), static_cast<size_t>(got));
    for (size_t newline = rest.find('\n'); newline != std::string_view::npos; newline = rest.find('\n')) {
      consumed_ += line.size() + newline + 1;
      line.append(rest.substr(0, newline));
      add_line(line);
      line.clear();
      rest.remove_prefix(newline + 1);
    }
    line.append(rest);  // an unfinished line is read again when the rest of it is there
  }
}

void PerfMap::add_line(std::string_view line) {
  uint64_t start = 0;
  uint64_t size = 0;
  if (!take_hex(line, start) || !take_hex(line, size) || line.empty() || size == 0 || start + size < start ||
      functions_.size() >= kMaxFunctions) {
    return;
  }
  // Memory of compiled code is used again: the newest function of a range is the one that counts.
  const uint64_t end = start + size;
  auto overlapped = functions_.lower_bound(start);
  if (overlapped != functions_.begin() && std::prev(overlapped)->second.end > start) {
    --overlapped;
  }
  while (overlapped != functions_.end() && overlapped->first < end) {
    overlapped = functions_.erase(overlapped);
  }
  const std::string_view name = line.substr(0, kMaxName);
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
