#include "profile/reader.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/files/packed_input.h"
#include "base/return_if_error.h"
#include "profile/import/iaprof.h"
#include "profile/import/published.h"
#include "profile/parse.h"
#include "profile/rows/number_row.h"
#include "profile/rows/parse_row.h"

namespace gpuprof::profile {
namespace {

constexpr size_t kFirstBuffer = size_t{64} << 10U;
// The bytes and the records made from them fit into the second-level cache.
constexpr size_t kChunk = size_t{256} << 10U;
constexpr size_t kMostRows = 64;  // the rows of a batch fit into the first-level cache
constexpr size_t kMaxLine = size_t{64} << 20U;
constexpr std::string_view kMagic = "GPUPROF;";
constexpr std::string_view kRecordHint = "use a profile that `gpuprof record` has written";
constexpr std::string_view kLineHint =
    "the line is damaged or was edited; `gpuprof merge --lenient` writes a profile without such lines";

struct Magic {
  std::string_view bytes;
  const char* tool;
};
// Compression formats that gpuprof recognizes but that PackedInput cannot unpack.
constexpr Magic kCompressed[] = {{"\xfd"
                                  "7zXZ",
                                  "xzcat"},
                                 {"BZh", "bzcat"}};

// Reads complete lines from a descriptor through a buffer.
class Lines {
 public:
  explicit Lines(UniqueFd fd) : fd_(std::move(fd)) {}
  explicit Lines(std::string_view text)
      : buffer_(new char[text.size() + NumberRow::kSlack]), capacity_(text.size()), end_(text.size()), at_eof_(true) {
    std::copy(text.begin(), text.end(), buffer_.get());
  }

  enum class Outcome { line, end, unfinished, too_long, failed };

  // If the outcome is `unfinished`, `line` is the beginning of the last line.
  Outcome next(Line& line) {
    size_t searched = 0;
    for (;;) {
      char* const begin = buffer_.get() + begin_;
      const size_t size = end_ - begin_;
      auto* const newline =
          size == searched ? nullptr : static_cast<char*>(std::memchr(begin + searched, '\n', size - searched));
      if (newline != nullptr) {
        begin_ += static_cast<size_t>(newline - begin) + 1;
        line = Line{begin, newline > begin && newline[-1] == '\r' ? newline - 1 : newline};
        return static_cast<size_t>(line.end - line.begin) <= kMaxLine ? Outcome::line : Outcome::too_long;
      }
      searched = size;
      if (at_eof_) {
        line = Line{begin, begin + size};
        begin_ = end_;
        return size == 0 ? Outcome::end : Outcome::unfinished;
      }
      if (size > kMaxLine + 1) {  // the line may have one more byte, a '\r' before the newline
        return Outcome::too_long;
      }
      if (!fill()) {
        return Outcome::failed;
      }
    }
  }

  // Returns the buffered bytes without consuming them. NumberRow::kSlack more bytes in memory are readable.
  [[nodiscard]] std::string_view ready() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void skip(size_t bytes) { begin_ += bytes; }

  // Returns the next `wanted` bytes without consuming them. Near the end of the input, returns fewer.
  bool peek(std::string_view& out, size_t wanted) {
    while (end_ - begin_ < wanted && !at_eof_) {
      if (!fill()) {
        return false;
      }
    }
    out = std::string_view(buffer_.get() + begin_, end_ - begin_);
    return true;
  }

  // Unpacks the rest of the input, including the bytes that peek() returned.
  void unpack() {
    packed_ = std::make_unique<PackedInput>(std::string_view(buffer_.get() + begin_, end_ - begin_));
    begin_ = end_ = 0;
    at_eof_ = false;
  }

  [[nodiscard]] const Error& error() const { return error_; }

 private:
  bool fill() {
    make_room();
    if (packed_) {
      return fill_unpacked();
    }
    for (;;) {
      const ssize_t n = ::read(fd_.get(), buffer_.get() + end_, capacity_ - end_);
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n < 0) {
        error_ = Error{std::strerror(errno), std::string(kRecordHint)};
        return false;
      }
      end_ += static_cast<size_t>(n);
      at_eof_ = n == 0;
      filled_ = end_ == capacity_;
      return true;
    }
  }

  bool fill_unpacked() {
    auto n = packed_->read(fd_.get(), buffer_.get() + end_, capacity_ - end_);
    if (!n) {
      error_ = std::move(n).error();
      return false;
    }
    end_ += *n;
    at_eof_ = *n == 0;
    filled_ = end_ == capacity_;
    return true;
  }

  void make_room() {
    if (begin_ > 0) {
      std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // A small profile needs only a small buffer. The buffer grows when reads fill it.
    const bool too_small = filled_ && capacity_ < kChunk;
    if (capacity_ > 0 && !too_small && capacity_ - end_ >= capacity_ / 2) {
      return;
    }
    const size_t capacity = std::max(kFirstBuffer, 2 * capacity_);
    std::unique_ptr<char[]> larger(new char[capacity + NumberRow::kSlack]);  // not zeroed, because reads overwrite it
    if (end_ > 0) {
      std::memcpy(larger.get(), buffer_.get(), end_);
    }
    buffer_ = std::move(larger);
    capacity_ = capacity;
  }

  UniqueFd fd_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool at_eof_ = false;
  bool filled_ = false;
  Error error_;
  std::unique_ptr<PackedInput> packed_;
};

bool parse_version(std::string_view text, int& major, int& minor) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) {
    return false;
  }
  const auto parse = [](std::string_view digits, int& out) {
    if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return false;
    }
    out = 0;
    for (const char c : digits) {
      out = out * 10 + (c - '0');
    }
    return true;
  };
  return parse(text.substr(0, dot), major) && parse(text.substr(dot + 1), minor);
}

}  // namespace

struct Reader::State {
  State(Lines input, std::string input_name, ReaderOptions reader_options)
      : lines(std::move(input)), name(std::move(input_name)), options(reader_options) {}

  Lines lines;
  std::string name;
  ReaderOptions options;
  ParseContext context;
  std::optional<PublishedForm> published;  // only for an input in this form
  std::optional<IaprofForm> tabbed;        // only for an input in this form
  std::optional<Record> record;            // memory for the record in a batch
  std::array<Gpu, kMostRows> gpu;          // memory for the rows in a batch, like the next two arrays
  std::array<EuStall, kMostRows> samples;
  std::array<Share, kMostRows> shares;
  uint64_t line = 0;
  uint64_t skipped_bad = 0;
  uint64_t last_refused = 0;
  uint64_t skipped_unknown = 0;
  bool cut_short = false;

  [[nodiscard]] Error at_line(std::string_view what, std::string_view hint) const { return at_line(line, what, hint); }
  [[nodiscard]] Error at_line(uint64_t number, std::string_view what, std::string_view hint) const {
    return Error{name + ":" + std::to_string(number) + ": " + std::string(what), std::string(hint)};
  }
  [[nodiscard]] Error read_error() const {
    return Error{"cannot read " + name + ": " + lines.error().message, lines.error().hint};
  }
  [[nodiscard]] Error not_a_profile(std::string_view begin) const {
    for (const Magic& magic : kCompressed) {
      if (begin.starts_with(magic.bytes)) {
        return Error{name + ":1: this is a compressed file, not a profile",
                     std::string("unpack it first: ") + magic.tool + " FILE | gpuprof flame"};
      }
    }
    return Error{name + ":1: this is not a profile: its first line is neither GPUPROF;<version> nor a known record",
                 std::string(kRecordHint)};
  }

  template <typename Row>
  std::span<const Row> take_rows(std::array<Row, kMostRows>& rows);
  Batch take_rows();
  Status read_header(std::string_view begin);
  Status check_version(const Line& header);
  // Parses a line into `out`, which must be empty. If the line is not a record, leaves `out` empty, and
  // context.reason says why. If the line holds nothing new, context.reason is empty.
  void parse(const Line& from, std::optional<Record>& out) {
    context.reason.clear();
    if (published) {
      out = published->take(from, context.reason);
    } else if (tabbed) {
      out = tabbed->take(from, context.reason);
    } else {
      parse_line(from, context, out);
    }
  }
};

Status Reader::State::check_version(const Line& header) {
  line = 1;
  std::string_view version(header.begin, static_cast<size_t>(header.end - header.begin));
  version.remove_prefix(kMagic.size());
  int major = 0;
  int minor = 0;
  if (!parse_version(version, major, minor)) {
    return at_line("the first line's version is not <major>.<minor>", kRecordHint);
  }
  if (major == 0) {
    return at_line("there is no format version 0", kRecordHint);
  }
  if (major > kFormatMajor) {
    return at_line("the profile has format version " + std::string(version) + ", this gpuprof reads up to " +
                       std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor),
                   "read it with the gpuprof that wrote it, or a newer one");
  }
  if (major < kFormatMajor) {
    return at_line("the profile has format version " + std::string(version) + ", from before the first release; this " +
                       "gpuprof reads version " + std::to_string(kFormatMajor),
                   "record it again");
  }
  return {};
}

// Parses the next rows of this kind, if they are completely in the buffer. Stops at a line of any other kind.
template <typename Row>
std::span<const Row> Reader::State::take_rows(std::array<Row, kMostRows>& rows) {
  constexpr std::string_view kKind = kLayout<Row>.kind;
  const std::string_view text = lines.ready();
  const char* const limit = text.data() + text.size();
  const char* at = text.data();
  size_t taken = 0;
  while (taken < rows.size() && static_cast<size_t>(limit - at) > kKind.size() + 1 &&
         std::memcmp(at, kKind.data(), kKind.size()) == 0 && at[kKind.size()] == ';') {
    const char* const next = take_row(at + kKind.size() + 1, limit, rows[taken]);
    if (next == nullptr) {
      break;
    }
    at = next;
    ++taken;
  }
  lines.skip(static_cast<size_t>(at - text.data()));
  line += taken;
  return {rows.data(), taken};
}

Reader::Batch Reader::State::take_rows() {
  Batch batch;
  const std::string_view text = lines.ready();
  if (published || tabbed || text.empty()) {
    return batch;
  }
  switch (text.front()) {
    case 'G':
      batch.gpu = take_rows(gpu);
      break;
    case 'E':
      batch.samples = take_rows(samples);
      break;
    case 'S':
      batch.shares = take_rows(shares);
      break;
    default:
      break;
  }
  return batch;
}

// `begin` has the first bytes of the input. They are enough for the longest name of a kind, or are the complete
// input.
Status Reader::State::read_header(std::string_view begin) {
  if (begin.empty()) {  // for example a pipe from a recording that failed before it wrote a line
    return Error{name + " is empty: this is not a profile", "`gpuprof record` may have failed: see its error messages"};
  }
  const std::string_view magic = begin.substr(0, std::min(begin.size(), kMagic.size()));
  if (magic == kMagic) {
    Line header;
    switch (lines.next(header)) {
      case Lines::Outcome::line:
        return check_version(header);
      case Lines::Outcome::unfinished:
      case Lines::Outcome::end:
        cut_short = true;
        return {};
      case Lines::Outcome::too_long:
        return not_a_profile(begin);
      case Lines::Outcome::failed:
        return read_error();
    }
  }
  if (kMagic.starts_with(begin)) {
    cut_short = true;
    return {};
  }
  const size_t semicolon = begin.find(';');
  if (semicolon != std::string_view::npos && PublishedForm::is_kind(begin.substr(0, semicolon))) {
    published.emplace();
    return {};
  }
  if (semicolon == std::string_view::npos && PublishedForm::is_kind_prefix(begin)) {
    published.emplace();
    cut_short = true;
    return {};
  }
  const size_t tab = begin.find('\t');
  if (tab != std::string_view::npos ? IaprofForm::is_kind(begin.substr(0, tab)) : IaprofForm::is_kind_prefix(begin)) {
    tabbed.emplace();
    cut_short = tab == std::string_view::npos;
    return {};
  }
  return not_a_profile(begin);
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(UniqueFd fd, std::string name, ReaderOptions options) {
  return open(std::make_unique<State>(Lines(std::move(fd)), std::move(name), options));
}

Result<Reader> Reader::open_text(std::string_view text, std::string name, ReaderOptions options) {
  return open(std::make_unique<State>(Lines(text), std::move(name), options));
}

Result<Reader> Reader::open(std::unique_ptr<State> state) {
  constexpr size_t kLongestKind = 16;
  std::string_view begin;
  if (!state->lines.peek(begin, kLongestKind)) {
    return state->read_error();
  }
  if (PackedInput::knows(begin)) {
    state->lines.unpack();
    if (!state->lines.peek(begin, kLongestKind)) {
      return state->read_error();
    }
  }
  RETURN_IF_ERROR(state->read_header(begin));
  return Reader(std::move(state));
}

Result<std::optional<Record>> Reader::next() {
  std::optional<Record> record;
  RETURN_IF_ERROR(read_record(record));
  return record;
}

Result<Reader::Batch> Reader::next_batch() {
  State& s = *state_;
  Batch batch = s.take_rows();
  if (batch.at_end()) {
    RETURN_IF_ERROR(read_record(s.record));
    batch.record = s.record ? &*s.record : nullptr;
  }
  return batch;
}

// At the end of the input, leaves `record` empty.
Status Reader::read_record(std::optional<Record>& record) {
  State& s = *state_;
  record.reset();
  if (s.published) {
    record = s.published->next();
  } else if (s.tabbed) {
    record = s.tabbed->next();
  }
  if (record) {
    s.skipped_unknown += std::holds_alternative<Unknown>(*record) ? 1 : 0;
    return {};
  }
  for (;;) {
    record.reset();
    Line line;
    switch (s.lines.next(line)) {
      case Lines::Outcome::line:
        break;
      case Lines::Outcome::unfinished:
        s.cut_short = true;
        [[fallthrough]];
      case Lines::Outcome::end:
        return {};
      case Lines::Outcome::too_long:
        ++s.line;
        return s.at_line("the line is longer than 64 MiB", kRecordHint);
      case Lines::Outcome::failed:
        return s.read_error();
    }
    ++s.line;
    if (line.begin == line.end) {
      continue;
    }
    s.parse(line, record);
    if (record) {
      s.skipped_unknown += std::holds_alternative<Unknown>(*record) ? 1 : 0;
      return {};
    }
    if (s.context.reason.empty()) {
      continue;
    }
    if (!s.options.lenient) {
      return s.at_line(s.context.reason, kLineHint);
    }
    ++s.skipped_bad;
  }
}

Error Reader::error_here(std::string_view what) const {
  return state_->at_line(what, kLineHint);
}

Error Reader::error_at(uint64_t line, std::string_view what) const {
  return state_->at_line(line, what, kLineHint);
}

uint64_t Reader::line() const {
  return state_->line;
}
bool Reader::is_published_form() const {
  return state_->published.has_value() || state_->tabbed.has_value();
}
uint64_t Reader::skipped_bad() const {
  return state_->skipped_bad;
}
uint64_t Reader::skipped_unknown() const {
  return state_->skipped_unknown;
}
bool Reader::cut_short() const {
  return state_->cut_short;
}
void Reader::count_bad(uint64_t line) {
  state_->skipped_bad += line != state_->last_refused ? 1 : 0;
  state_->last_refused = line;
}
bool Reader::lenient() const {
  return state_->options.lenient;
}

}  // namespace gpuprof::profile
