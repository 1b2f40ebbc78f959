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
#include <span>

#include "base/files/special_output.h"
#include "base/text/append_number.h"
#include "base/text/hints.h"
#include "base/text/utf8.h"
#include "profile/keywords.h"
#include "profile/record_fields.h"

namespace gpuprof::profile {
namespace {

void escape(std::string_view text, std::string& out) {
  append_escaped(text, ";\\", out);
}

// Appends the fields of one line, each with its ';'. Collects numbers in an array before they go into the string,
// because a large profile consists of numbers, and a string would check its capacity for each.
class LineBuilder {
 public:
  LineBuilder(std::string_view kind, std::string& out) : out_(out) { out_ += kind; }
  LineBuilder(const LineBuilder&) = delete;
  LineBuilder& operator=(const LineBuilder&) = delete;
  ~LineBuilder() {
    text_[size_++] = '\n';
    hand_over();
  }

  template <std::unsigned_integral Number>
  void put(Number value) {
    make_room();
    text_[size_] = ';';
    size_ = static_cast<size_t>(put_digits(&text_[size_ + 1], value) - text_.data());
  }
  template <AnyId Id>
  void put(Id id) {
    put(index(id));
  }
  void put(FrameKind kind) { put_word(word(kind)); }
  void put(Op op) { put_word(word(op)); }
  void put(Phase phase) { put_word(word(phase)); }
  void put(std::string_view text) {
    put_word({});
    escape(text, out_);
  }
  // 128-bit divisions are slow. So this divides by a large power of 10, and formats the remainder with 64 bits.
  void put(Uint128 value) {
    if (value <= UINT64_MAX) {
      return put(static_cast<uint64_t>(value));
    }
    std::array<char, 40> text{};
    size_t at = text.size();
    while (value != 0) {
      constexpr uint64_t kPart = 10'000'000'000'000'000'000U;  // the largest power of 10 below 2^64
      auto part = static_cast<uint64_t>(value % kPart);
      value /= kPart;
      for (size_t digits = 0; value != 0 ? digits < 19 : part != 0; ++digits, part /= 10) {
        text[--at] = static_cast<char>('0' + part % 10);
      }
    }
    put_word(std::string_view(&text[at], text.size() - at));
  }
  void put_hexadecimal(uint64_t value) {
    make_room();
    std::memcpy(&text_[size_], ";0x", 3);
    char* const at = &text_[size_ + 3];
    size_ = static_cast<size_t>(std::to_chars(at, at + kMostDigits, value, 16).ptr - text_.data());
  }

  // A text element must not look like the id of a frame or like an address. If it does, this escapes its first byte.
  void put(const StackElement& element) {
    if (element.is_address) {
      return put_hexadecimal(element.address);
    }
    if (element.text.empty()) {
      return put(element.frame);
    }
    const char first = element.text.front();
    if (first < '0' || first > '9') {
      return put(element.text);
    }
    put_word({});
    append_hex_escape(static_cast<unsigned char>(first), out_);
    escape(element.text.substr(1), out_);
  }
  template <typename Buckets>
  void put(const BucketCount<Buckets>& bucket) {
    put(bucket.bucket);
    put(bucket.count);
  }
  template <typename T>
  void put(std::span<const T> list) {
    for (const T& one : list) {
      put(one);
    }
  }

 private:
  void put_word(std::string_view text) {
    text_[size_++] = ';';
    hand_over();
    out_ += text;
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
  std::array<char, 256> text_;
  size_t size_ = 0;
};

template <typename R>
void put(const R& record, std::string& out) {
  LineBuilder line(kind_of(record), out);
  for_each_field(record, [&]<typename F>(const F& /*field*/, const auto& value) {
    if constexpr (F::kForm == Form::hexadecimal) {
      line.put_hexadecimal(value);
    } else if (!is_left_out<F>(value)) {
      line.put(value);
    }
    return true;
  });
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
  format_line(record, buffer_);
  flush_if_full();
}

void Writer::add_lines(std::string_view lines) {
  buffer_ += lines;
  flush_if_full();
}

void Writer::flush_if_full() {
  constexpr size_t kMaxBuffered = size_t{1} << 20;
  if (buffer_.size() >= kMaxBuffered) {
    (void)flush();  // flush() stores the failure
  }
}

Status Writer::flush() {
  if (failed_) {
    return *failed_;
  }
  size_t done = 0;
  while (done < buffer_.size()) {
    if (give_up_ != nullptr && !wait_until_writable(fd_.get(), *give_up_)) {
      failed_ = Error{"cannot write the profile: its reader reads nothing",
                      "continue or end the program that reads the pipe"};
      buffer_.clear();
      return *failed_;
    }
    // A pipe that poll() reports as writable accepts PIPE_BUF bytes without blocking.
    const size_t most = give_up_ != nullptr ? PIPE_BUF : buffer_.size();
    const ssize_t n = ::write(fd_.get(), buffer_.data() + done, std::min(buffer_.size() - done, most));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      const int why = n < 0 ? errno : EIO;
      failed_ = Error{why == EPIPE ? "cannot write the profile: its reader has closed the pipe"
                                   : std::string("cannot write the profile: ") + std::strerror(why),
                      why == EPIPE                     ? "read the whole profile, or write it to a file with -o FILE"
                      : why == ENOSPC || why == EDQUOT ? "free some space, or write elsewhere with -o FILE"
                                                       : hints::of_error(why, "write elsewhere with -o FILE")};
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
