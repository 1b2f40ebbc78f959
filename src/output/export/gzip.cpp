#include "output/export/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>
#include <new>

namespace gpuprof::output {
namespace {

// Added to zlib's window bits, this makes zlib write a gzip header, which has no name and time.
constexpr int kGzipHeader = 16;
constexpr int kMemoryLevel = 8;                   // default of zlib
constexpr size_t kMostAtOnce = size_t{1} << 30U;  // zlib counts bytes in an unsigned int

}  // namespace

struct Gzip::State {
  z_stream stream = {};
  std::array<char, size_t{1} << 16U> buffer;
};

Gzip::Gzip(TextStream& out) : out_(out), state_(std::make_unique<State>()) {
  if (::deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipHeader, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();  // with valid arguments, deflateInit2() fails only if memory is exhausted
  }
}

Gzip::~Gzip() {
  ::deflateEnd(&state_->stream);
}

void Gzip::append(std::string_view piece) {
  while (!piece.empty() && !out_.failed()) {
    const size_t size = std::min(piece.size(), kMostAtOnce);
    compress(piece.substr(0, size), Z_NO_FLUSH);
    piece.remove_prefix(size);
  }
}

void Gzip::finish() {
  compress({}, Z_FINISH);
}

void Gzip::compress(std::string_view piece, int flush) {
  z_stream& stream = state_->stream;
  // zlib only reads the input, but declares it const only if ZLIB_CONST is defined.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));  // NOLINT(*-const-cast)
  stream.avail_in = static_cast<uInt>(piece.size());
  do {
    stream.next_out = reinterpret_cast<Bytef*>(state_->buffer.data());
    stream.avail_out = static_cast<uInt>(state_->buffer.size());
    ::deflate(&stream, flush);
    out_.append({state_->buffer.data(), state_->buffer.size() - stream.avail_out});
  } while (stream.avail_out == 0);
}

}  // namespace gpuprof::output
