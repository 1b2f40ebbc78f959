#include "base/files/packed_input.h"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>

#include "base/return_if_error.h"

namespace gpuprof {

// A compression format. The input may consist of several compressed streams in sequence.
class PackedInput::Format {
 public:
  Format() = default;
  Format(const Format&) = delete;
  Format& operator=(const Format&) = delete;
  virtual ~Format() = default;

  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual const char* tool() const = 0;
  // Unpacks from `packed` and removes from it what was used. Returns the number of bytes written to `out`. On an
  // error, sets failed().
  virtual size_t unpack(std::string_view& packed, char* out, size_t size) = 0;
  [[nodiscard]] bool failed() const { return failed_; }
  // True if the input may end here, because no compressed stream is incomplete.
  [[nodiscard]] bool is_whole() const { return whole_; }

 protected:
  bool failed_ = false;
  bool whole_ = false;
};

namespace {

constexpr std::string_view kGzip = "\x1f\x8b";
constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
constexpr size_t kPiece = size_t{64} << 10U;
constexpr int kGzipOnly = 16;  // inflateInit2 accepts only gzip if this is added to the window size
constexpr int kLargestWindowLog = 27;

class Gzip final : public PackedInput::Format {
 public:
  Gzip() { failed_ = ::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK; }
  ~Gzip() override { ::inflateEnd(&stream_); }

  [[nodiscard]] const char* name() const override { return "gzip"; }
  [[nodiscard]] const char* tool() const override { return "zcat"; }

  size_t unpack(std::string_view& packed, char* out, size_t size) override {
    if (whole_) {
      whole_ = false;
      failed_ = ::inflateReset(&stream_) != Z_OK;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // NOLINT: zlib only reads it
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(size);
    const int code = failed_ ? Z_STREAM_ERROR : ::inflate(&stream_, Z_NO_FLUSH);
    whole_ = code == Z_STREAM_END;
    failed_ = code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR;
    packed.remove_prefix(packed.size() - stream_.avail_in);
    return size - stream_.avail_out;
  }

 private:
  z_stream stream_{};
};

class Zstd final : public PackedInput::Format {
 public:
  Zstd() : stream_(::ZSTD_createDStream()) {
    failed_ = stream_ == nullptr ||
              ::ZSTD_isError(::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestWindowLog)) != 0;
  }
  ~Zstd() override { ::ZSTD_freeDStream(stream_); }

  [[nodiscard]] const char* name() const override { return "zstd"; }
  [[nodiscard]] const char* tool() const override { return "zstdcat"; }

  size_t unpack(std::string_view& packed, char* out, size_t size) override {
    if (failed_) {
      return 0;
    }
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer filled{out, size, 0};
    const size_t code = ::ZSTD_decompressStream(stream_, &filled, &in);
    failed_ = ::ZSTD_isError(code) != 0;
    whole_ = code == 0;
    packed.remove_prefix(in.pos);
    return filled.pos;
  }

 private:
  ZSTD_DStream* stream_;
};

}  // namespace

bool PackedInput::knows(std::string_view begin) {
  return begin.starts_with(kGzip) || begin.starts_with(kZstd);
}

PackedInput::PackedInput(std::string_view begun) : packed_(begun) {
  if (begun.starts_with(kGzip)) {
    format_ = std::make_unique<Gzip>();
  } else {
    format_ = std::make_unique<Zstd>();
  }
}

PackedInput::~PackedInput() = default;

Status PackedInput::refill(int fd) {
  packed_.resize(kPiece);
  used_ = 0;
  ssize_t got = 0;
  do {
    got = fd < 0 ? 0 : ::read(fd, packed_.data(), packed_.size());
  } while (got < 0 && errno == EINTR);
  const int error = errno;
  packed_.resize(got > 0 ? static_cast<size_t>(got) : 0);
  at_end_ = got == 0;
  return got < 0 ? Status(Error{std::strerror(error), ""}) : Status();
}

Result<size_t> PackedInput::read(int fd, char* out, size_t size) {
  for (;;) {
    if (used_ == packed_.size() && !at_end_) {
      RETURN_IF_ERROR(refill(fd));
    }
    if (used_ == packed_.size() && at_end_ && format_->is_whole()) {
      return size_t{0};
    }
    // The decompressor may still hold unpacked bytes at the end of the input, so it must also be called then.
    std::string_view packed = std::string_view(packed_).substr(used_);
    const size_t filled = format_->unpack(packed, out, size);
    used_ = packed_.size() - packed.size();
    if (format_->failed()) {
      return Error{std::string("its ") + format_->name() + " data is damaged",
                   std::string(format_->tool()) + " FILE | gpuprof ... reads the data before the damage"};
    }
    if (filled > 0) {
      return filled;
    }
    if (used_ == packed_.size() && at_end_ && !format_->is_whole()) {
      return Error{std::string("its ") + format_->name() + " data is cut short",
                   std::string(format_->tool()) + " FILE | gpuprof ... reads the data before the cut"};
    }
  }
}

}  // namespace gpuprof
