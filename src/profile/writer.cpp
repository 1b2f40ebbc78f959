#include "profile/writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "base/files/special_output.h"
#include "base/utf8.h"
#include "profile/words.h"

namespace gpuprof::profile {
namespace {

void escape(std::string_view text, std::string& out) {
  append_escaped(text, ";\\", out);
}

// Appends the fields of one line; each adds its own ';'. Numbers are put together here first: they are what a large
// profile is made of, and a string checks its capacity for each piece.
class Line {
 public:
  Line(std::string_view kind, std::string& out) : out_(out) { out_ += kind; }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    text_[size_++] = '\n';
    hand_over();
  }

  template <typename T>
  requires std::unsigned_integral<T> Line& operator<<(T value) { return number(value); }
  template <typename Id>
  requires std::is_enum_v<Id> Line& operator<<(Id id) { return number(index(id)); }
  Line& operator<<(std::string_view text) {
    text_[size_++] = ';';
    hand_over();
    escape(text, out_);
    return *this;
  }
  Line& word(std::string_view text) {
    text_[size_++] = ';';
    hand_over();
    out_ += text;
    return *this;
  }
  Line& hex(uint64_t value) {
    make_room();
    std::memcpy(&text_[size_], ";0x", 3);
    put(&text_[size_ + 3], value, 16);
    return *this;
  }
  // 128 bits are slow to divide: once by what leaves 64 of them.
  Line& wide(Uint128 value) {
    if (value <= UINT64_MAX) {
      return number(static_cast<uint64_t>(value));
    }
    std::array<char, 40> text{};
    size_t at = text.size();
    while (value != 0) {
      constexpr uint64_t kPart = 10'000'000'000'000'000'000U;  // the largest power of 10 that fits
      auto part = static_cast<uint64_t>(value % kPart);
      value /= kPart;
      for (size_t digits = 0; value != 0 ? digits < 19 : part != 0; ++digits, part /= 10) {
        text[--at] = static_cast<char>('0' + part % 10);
      }
    }
    return word(std::string_view(&text[at], text.size() - at));
  }
  // A text element must not look like a frame id or an address: its first byte is escaped where it would.
  Line& element(const StackElement& element) {
    if (element.is_address) {
      return hex(element.address);
    }
    if (element.text.empty()) {
      return *this << element.frame;
    }
    const char first = element.text.front();
    if (first < '0' || first > '9') {
      return *this << element.text;
    }
    word({});
    append_hex_escape(static_cast<unsigned char>(first), out_);
    escape(element.text.substr(1), out_);
    return *this;
  }

 private:
  static constexpr size_t kMostDigits = 20;

  Line& number(uint64_t value) {
    make_room();
    text_[size_] = ';';
    put(&text_[size_ + 1], value, 10);
    return *this;
  }
  void put(char* at, uint64_t value, int base) {
    const auto end = std::to_chars(at, at + kMostDigits, value, base);
    size_ = static_cast<size_t>(end.ptr - text_.data());
  }
  void make_room() {
    if (text_.size() - size_ < kMostDigits + 8) {
      hand_over();
    }
  }
  void hand_over() {
    out_.append(text_.data(), size_);
    size_ = 0;
  }

  std::string& out_;
  std::array<char, 256> text_;  // not cleared
  size_t size_ = 0;
};

void put(const Meta& r, std::string& out) {
  Line("META", out) << r.key << r.value;
}
void put(const String& r, std::string& out) {
  Line("STRING", out) << r.id << r.value;
}

void put(const Frame& r, std::string& out) {
  Line line("FRAME", out);
  (line << r.id).word(word(r.kind)) << r.name << r.file << r.line << r.module << r.build_id;
  line.hex(r.address);
}

void put(const Stack& r, std::string& out) {
  Line line(r.kernel ? "KSTACK" : "USTACK", out);
  line << r.id;
  for (const StackElement& element : r.elements) {
    line.element(element);
  }
}

void put(const Process& r, std::string& out) {
  Line("PROCESS", out) << r.id << r.pid << r.ppid << r.start_ns << r.name << r.command << r.rank << r.host;
}
void put(const Device& r, std::string& out) {
  Line("DEVICE", out) << r.id << r.backend << r.index << r.name << r.uuid;
}
void put(const Range& r, std::string& out) {
  Line("RANGE", out) << r.id << r.parent << r.domain << r.name;
}

void put(const Work& r, std::string& out) {
  Line line("WORK", out);
  line << r.id << r.process << r.tid << r.thread << r.ustack << r.kstack << r.capture << r.range << r.device
       << r.stream;
  line.word(word(r.op)) << r.name << r.flags;
}

void put(const Gpu& r, std::string& out) {
  Line line("GPU", out);
  line << r.slice << r.work << r.count << r.sum_ns << r.min_ns << r.max_ns;
  line.wide(r.sum_squares_ns2) << r.queue_ns << r.bytes;
}

void put(const Host& r, std::string& out) {
  Line("HOST", out) << r.slice << r.work << r.count << r.sum_ns << r.min_ns << r.max_ns << r.bytes;
}
void put(const Launch& r, std::string& out) {
  Line("LAUNCH", out) << r.slice << r.work << r.count;
}
void put(const Share& r, std::string& out) {
  Line("SHARE", out) << r.slice << r.work << r.busy_ns << r.exclusive_ns;
}
void put(const Idle& r, std::string& out) {
  Line("IDLE", out) << r.slice << r.device << r.work << r.ns;
}
void put(const Window& r, std::string& out) {
  Line("WINDOW", out) << r.start_ns << r.end_ns;
}

void put(const Latency& r, std::string& out) {
  Line line("LATENCY", out);
  (line << r.work).word(word(r.phase)) << r.count << r.sum_ns << r.min_ns << r.max_ns;
  for (const Latency::Bucket& bucket : r.buckets) {
    line << bucket.bucket << bucket.count;
  }
}

void put(const Event& r, std::string& out) {
  Line line("EVENT", out);
  line << r.work << r.correlation << r.start_ns << r.end_ns << r.queued_ns << r.submitted_ns << r.bytes;
}
void put(const Call& r, std::string& out) {
  Line line("CALL", out);
  line << r.process << r.tid << r.ustack << r.function << r.correlation << r.start_ns << r.end_ns;
}
void put(const Span& r, std::string& out) {
  Line("SPAN", out) << r.process << r.tid << r.range << r.start_ns << r.end_ns;
}
void put(const Coverage& r, std::string& out) {
  Line("COVERAGE", out) << r.process << r.what << r.count;
}
void put(const GpuModule& r, std::string& out) {
  Line("GPU_MODULE", out) << r.id << r.name << r.hash;
}

void put(const GpuPlace& r, std::string& out) {
  Line line("GPU_PLACE", out);
  (line << r.id << r.module << r.function).hex(r.offset) << r.instruction;
  for (const FrameId frame : r.frames) {
    line << frame;
  }
}

void put(const GpuInstruction& r, std::string& out) {
  Line("GPU_INSTRUCTION", out) << r.place << r.text << r.waits_for << r.what;
}

void put(const GpuCount& r, std::string& out) {
  Line("GPU_COUNT", out) << r.process << r.device << r.place << r.name << r.value;
}

void put(const Sampling& r, std::string& out) {
  Line("SAMPLING", out) << r.id << r.period << r.unit;
}
void put(const EuStall& r, std::string& out) {
  Line("EUSTALL", out) << r.slice << r.work << r.place << r.reason << r.sampling << r.count << r.flags;
}

void put(const Loss& r, std::string& out) {
  Line("LOSS", out) << r.process << r.reason << r.count;
}
void put(const End& r, std::string& out) {
  Line("END", out) << r.end_ns << r.launches << r.gpu_records << r.gpu_ns << r.with_stack << r.samples << r.lost;
}
void put(const Unknown& /*unused*/, std::string& /*unused*/) {}

}  // namespace

void format_line(const Record& record, std::string& out) {
  std::visit([&out](const auto& r) { put(r, out); }, record);
}

void format_header(std::string& out) {
  out += "GPUPROF;" + std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor) + "\n";
}

Writer::Writer(UniqueFd fd, const std::atomic<bool>* give_up) : fd_(std::move(fd)) {
  struct stat info {};
  const bool regular = ::fstat(fd_.get(), &info) == 0 && S_ISREG(info.st_mode);
  give_up_ = regular ? nullptr : give_up;
}

void Writer::add(const Record& record) {
  constexpr size_t kMaxBuffered = size_t{1} << 20;
  format_line(record, buffer_);
  if (buffer_.size() >= kMaxBuffered) {
    (void)flush();  // a failure stays
  }
}

Status Writer::flush() {
  if (failed_) {
    return *failed_;
  }
  size_t done = 0;
  while (done < buffer_.size()) {
    if (give_up_ != nullptr && !wait_until_writable(fd_.get(), *give_up_)) {
      failed_ =
          Error{"cannot write the profile: its reader takes nothing", "end the reader as well, or let it read on"};
      buffer_.clear();
      return *failed_;
    }
    // A pipe with room takes so much without waiting.
    const size_t most = give_up_ != nullptr ? PIPE_BUF : buffer_.size();
    const ssize_t n = ::write(fd_.get(), buffer_.data() + done, std::min(buffer_.size() - done, most));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      failed_ = Error{std::string("cannot write the profile: ") + std::strerror(n < 0 ? errno : EIO),
                      "free some space, or write elsewhere with -o FILE"};
      buffer_.clear();
      return *failed_;
    }
    done += static_cast<size_t>(n);
    bytes_written_ += static_cast<uint64_t>(n);
  }
  buffer_.clear();
  return {};
}

}  // namespace gpuprof::profile
