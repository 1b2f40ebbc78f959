#include "symbolize/disassembler.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <unordered_map>

#include "base/clock.h"
#include "base/process/close_range.h"
#include "base/process/pidfd.h"
#include "base/unique_fd.h"

namespace gpuprof::symbolize {
namespace {

constexpr std::string_view kSection = "\t.section\t.text.";
constexpr int kCubin = 3;  // its descriptor in nvdisasm
constexpr int kPollMs = 100;
constexpr size_t kMaxInstructionText = 1024;

std::optional<std::string_view> next_line(std::string_view& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// "        /*0010*/              @P0 EXIT ;" without what is around it. The offset is of the section.
std::optional<GpuInstruction> parse_instruction(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || !line.substr(begin).starts_with("/*")) {
    return std::nullopt;
  }
  line.remove_prefix(begin + 2);
  GpuInstruction result;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), result.offset, 16);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (error != std::errc() || !line.starts_with("*/")) {
    return std::nullopt;
  }
  line.remove_prefix(2);
  line = line.substr(0, std::min(line.find(';'), kMaxInstructionText));
  // Runs of blanks, and the braces of instructions that are issued together, are for the eye.
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t' || c == '{' || c == '}';
    if (!blank) {
      result.text += c;
    } else if (!result.text.empty() && result.text.back() != ' ') {
      result.text += ' ';
    }
  }
  if (result.text.ends_with(' ')) {
    result.text.pop_back();
  }
  return result.text.empty() ? std::nullopt : std::optional(std::move(result));
}

// ".L_x_1:" names the offset of the instruction behind it.
std::optional<std::string_view> parse_label(std::string_view line) {
  const bool is_label = line.ends_with(':') && line.find_first_of(" \t") == std::string_view::npos;
  return is_label ? std::optional(line.substr(0, line.size() - 1)) : std::nullopt;
}

// Of "BRA `(.L_x_1)".
std::string_view label_in(std::string_view text) {
  const size_t begin = text.find("`(");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin + 2, text.rfind(')') - begin - 2);
}

// Offsets of labels, from the begin of their section.
class Labels {
 public:
  void name_next(std::string_view label) { waiting_.push_back(label); }
  void end_section() { waiting_.clear(); }
  void at(uint64_t offset) {
    for (const std::string_view label : waiting_) {
      offsets_.try_emplace(label, offset);
    }
    waiting_.clear();
  }

  void resolve(const CubinFunction& function, std::vector<GpuInstruction>& instructions) const {
    for (GpuInstruction& each : instructions) {
      const auto found = offsets_.find(label_in(each.text));
      if (found != offsets_.end() && found->second >= function.begin &&
          found->second - function.begin < function.size) {
        each.target = found->second - function.begin;
      }
    }
  }

 private:
  std::vector<std::string_view> waiting_;
  std::unordered_map<std::string_view, uint64_t> offsets_;
};

struct Child {
  UniqueFd output;
  UniqueFd process;
};

// In the child, up to exec: nothing that another thread may have locked at the fork is used.
[[noreturn]] void become(const char* program, const char* const* arguments, int cubin, int output,
                         const Disassembler::Owner& owner, const Disassembler::Limits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);  // so that Ctrl-C ends the command, and not what names its kernels
  if (::geteuid() == 0 &&
      (::syscall(SYS_setgroups, 0, nullptr) != 0 || ::syscall(SYS_setresgid, owner.gid, owner.gid, owner.gid) != 0 ||
       ::syscall(SYS_setresuid, owner.uid, owner.uid, owner.uid) != 0)) {
    ::_exit(1);
  }
  const rlim_t seconds = static_cast<rlim_t>(limits.time.count() / 1000) + 1;
  const rlimit time{seconds, seconds};
  const rlimit memory{limits.memory, limits.memory};
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CPU, &time);
  ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CORE, &none);
  ::setrlimit(RLIMIT_FSIZE, &none);
  sigset_t all;
  sigemptyset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(null, 2) < 0 || ::dup2(cubin, kCubin) < 0) {
    ::_exit(1);
  }
  close_between(kCubin + 1, ~0U >> 1);
  const std::array<char*, 2> environment = {const_cast<char*>("LC_ALL=C"), nullptr};
  ::execve(program, const_cast<char* const*>(arguments), environment.data());
  ::_exit(127);
}

Child start(const std::string& program, uint32_t symbol, int cubin, const Disassembler::Owner& owner,
            const Disassembler::Limits& limits) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  Child child{UniqueFd(ends[0]), UniqueFd()};
  const UniqueFd ours(ends[1]);
  // All descriptors that the child is given are above those that they become.
  const UniqueFd output(::fcntl(ours.get(), F_DUPFD_CLOEXEC, kCubin + 1));
  const UniqueFd source(::fcntl(cubin, F_DUPFD_CLOEXEC, kCubin + 1));
  const std::string file = "/proc/self/fd/" + std::to_string(kCubin);
  const std::string index = std::to_string(symbol);
  const std::array<const char*, 6> arguments = {program.c_str(), "-c", "-fun", index.c_str(), file.c_str(), nullptr};
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(program.c_str(), arguments.data(), source.get(), output.get(), owner, limits);
  }
  child.process = pid > 0 ? open_pidfd(pid) : UniqueFd();
  return child;
}

std::string read_all(int fd, const Disassembler::Limits& limits) {
  const uint64_t end = monotonic_ns() + static_cast<uint64_t>(limits.time.count()) * 1'000'000;
  std::string text;
  std::array<char, 65536> chunk{};
  while (text.size() < limits.output && monotonic_ns() < end) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) <= 0) {
      continue;
    }
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    text.append(chunk.data(), std::min(static_cast<size_t>(got), limits.output - text.size()));
  }
  return text;
}

UniqueFd file_of(std::span<const std::byte> bytes) {
  UniqueFd file(::memfd_create("cubin", MFD_CLOEXEC));
  while (file && !bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return UniqueFd();
    }
    bytes = bytes.subspan(written > 0 ? static_cast<size_t>(written) : 0);
  }
  return file;
}

}  // namespace

std::vector<GpuInstruction> parse_disassembly(std::string_view text, const CubinFunction& function) {
  std::vector<GpuInstruction> instructions;
  std::vector<GpuInstruction> named;
  size_t sections = 0;
  bool is_named = false;
  Labels labels;
  while (const auto line = next_line(text)) {
    if (line->starts_with("\t.section\t")) {
      const bool code = line->starts_with(kSection);
      sections += code ? 1 : 0;
      labels.end_section();
      const std::string_view name = code ? line->substr(kSection.size()) : std::string_view();
      is_named = name.substr(0, name.find(',')) == function.name;
    } else if (const auto label = parse_label(*line)) {
      labels.name_next(*label);
    } else if (auto instruction = parse_instruction(*line)) {
      labels.at(instruction->offset);
      if (instruction->offset >= function.begin && instruction->offset - function.begin < function.size) {
        instruction->offset -= function.begin;
        (is_named ? named : instructions).push_back(std::move(*instruction));
      }
    }
  }
  labels.resolve(function, named.empty() ? instructions : named);
  if (!named.empty()) {
    return named;
  }
  return sections == 1 ? instructions : std::vector<GpuInstruction>();
}

std::optional<Disassembler> Disassembler::find(std::string_view search_path) {
  while (!search_path.empty()) {
    const size_t end = std::min(search_path.find(':'), search_path.size());
    const std::string program = std::string(search_path.substr(0, end)) + "/nvdisasm";
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
    struct stat info {};
    if (program.front() == '/' && ::stat(program.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(program.c_str(), X_OK) == 0) {
      return Disassembler(program);
    }
  }
  return std::nullopt;
}

std::vector<GpuInstruction> Disassembler::run(std::span<const std::byte> cubin, const CubinFunction& function,
                                              const Owner& owner, const Limits& limits) const {
  const UniqueFd file = file_of(cubin);
  if (!file) {
    return {};
  }
  const Child child = start(program_, function.symbol, file.get(), owner, limits);
  if (!child.process) {
    return {};
  }
  const std::string text = read_all(child.output.get(), limits);
  // Not by its number: the session's thread collects whatever child has ended.
  siginfo_t info{};
  ::syscall(SYS_pidfd_send_signal, child.process.get(), SIGKILL, nullptr, 0);
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child.process.get()), &info, WEXITED);
  return parse_disassembly(text, function);
}

}  // namespace gpuprof::symbolize
