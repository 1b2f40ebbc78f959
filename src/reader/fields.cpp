#include "reader/fields.h"

#include <algorithm>

namespace gpuprof::reader {
namespace {

using symbolize::SourceFrame;
using symbolize::SymbolizedFrame;

constexpr size_t kFrameBytes = 7 * sizeof(uint64_t);
constexpr size_t kLineBytes = 3 * sizeof(uint64_t);
// A stack has at most 1024 addresses, and a profile allows 65,536 frames in a stack.
constexpr size_t kMaxFrames = 63;
constexpr size_t kMaxLines = 1024;  // frames of one code location; a profile has the same limit
constexpr size_t kMaxName = size_t{64} << 10;

// The reader names code of ELF files, so it knows only these kinds.
profile::FrameKind kind_of(uint64_t value) {
  for (const auto kind : {profile::FrameKind::native, profile::FrameKind::inlined}) {
    if (value == static_cast<uint64_t>(kind)) {
      return kind;
    }
  }
  return profile::FrameKind::unknown;
}

std::string_view short_text(Message& from) {
  return from.text().substr(0, kMaxName);
}

}  // namespace

void append_frames(Message& to, const std::vector<SymbolizedFrame>& frames) {
  to.number(std::min(frames.size(), kMaxFrames));
  for (size_t i = 0; i < std::min(frames.size(), kMaxFrames); ++i) {
    const SymbolizedFrame& frame = frames[i];
    to.number(static_cast<uint64_t>(frame.kind)).text(frame.name).text(frame.file).number(frame.line);
    to.text(frame.module).text(frame.build_id).number(frame.address);
  }
}

std::vector<SymbolizedFrame> take_frames(Message& from) {
  std::vector<SymbolizedFrame> frames(std::min(from.count(kFrameBytes), kMaxFrames));
  for (SymbolizedFrame& frame : frames) {
    frame.kind = kind_of(from.number());
    frame.name = short_text(from);
    frame.file = short_text(from);
    frame.line = static_cast<uint32_t>(from.number());
    frame.module = short_text(from);
    frame.build_id = short_text(from);
    frame.address = from.number();
  }
  return from.ok() ? std::move(frames) : std::vector<SymbolizedFrame>();
}

void append_lines(Message& to, const std::vector<SourceFrame>& frames) {
  to.number(std::min(frames.size(), kMaxLines));
  for (size_t i = 0; i < std::min(frames.size(), kMaxLines); ++i) {
    to.text(frames[i].name).text(frames[i].file).number(frames[i].line);
  }
}

std::vector<SourceFrame> take_lines(Message& from) {
  std::vector<SourceFrame> frames(std::min(from.count(kLineBytes), kMaxLines));
  for (SourceFrame& frame : frames) {
    frame.name = short_text(from);
    frame.file = short_text(from);
    frame.line = static_cast<uint32_t>(from.number());
  }
  return from.ok() ? std::move(frames) : std::vector<SourceFrame>();
}

void append_left_out(Message& to, const symbolize::ReadingBudget::LeftOut& left_out) {
  to.number(left_out.debug_links).number(left_out.debug_infos).number(left_out.symbol_tables);
}

symbolize::ReadingBudget::LeftOut take_left_out(Message& from) {
  symbolize::ReadingBudget::LeftOut left_out;
  left_out.debug_links = from.number();
  left_out.debug_infos = from.number();
  left_out.symbol_tables = from.number();
  return left_out;
}

}  // namespace gpuprof::reader
