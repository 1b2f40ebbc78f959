#include "backend/bpf_codes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpuprof::backend {
namespace {

constexpr std::string_view kEllipsis = "...";
constexpr size_t kMaxUnfinished = 4096;  // incomplete code objects; each sending thread has at most one

uint32_t character_at(const uint8_t* at, unsigned kind) {
  uint32_t value = 0;
  std::memcpy(&value, at, kind);
  return value;
}

void append_utf8(std::string& text, uint32_t character) {
  if (character >= 0xDC80 && character <= 0xDCFF) {
    // A byte of a file name that is not UTF-8, which Python stores as a surrogate (surrogateescape).
    text += static_cast<char>(character - 0xDC00);
    return;
  }
  if (character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF)) {
    character = 0xFFFD;
  }
  const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xC0 | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xE0 | character >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | character >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

template <typename Event>
bool read_header(std::span<const std::byte> bytes, Event& event) {
  constexpr size_t kHeader = offsetof(Event, bytes);
  if (bytes.size() < kHeader) {
    return false;
  }
  std::memcpy(&event, bytes.data(), kHeader);
  return true;
}

}  // namespace

std::string decode_python_text(std::span<const uint8_t> characters, unsigned kind, bool cut) {
  std::string text;
  if (kind != 1 && kind != 2 && kind != 4) {
    return text;
  }
  size_t whole = 0;  // longest prefix so far after which "..." still fits
  for (size_t at = 0; at + kind <= characters.size(); at += kind) {
    const size_t before = text.size();
    append_utf8(text, character_at(characters.data() + at, kind));
    if (text.size() > GPUPROF_BPF_CODE_TEXT) {
      text.resize(before);
      cut = true;
      break;
    }
    if (text.size() <= GPUPROF_BPF_CODE_TEXT - kEllipsis.size()) {
      whole = text.size();
    }
  }
  if (cut) {
    text.resize(whole);
    text += kEllipsis;
  }
  return text;
}

void BpfCodes::on_code(std::span<const std::byte> event, const Take& take) {
  gpuprof_bpf_code head{};
  if (!read_header(event, head)) {
    return;
  }
  const std::span<const std::byte> text = event.subspan(offsetof(gpuprof_bpf_code, bytes));
  if (head.name_bytes > GPUPROF_BPF_CODE_TEXT || head.file_bytes > GPUPROF_BPF_CODE_TEXT ||
      size_t{head.name_bytes} + head.file_bytes > text.size() || head.line_bytes > GPUPROF_BPF_LINES_MAX) {
    return;
  }
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  Code code{head.pid, head.id, head.version, head.first_line, {}, {}, {}, head.line_bytes, 0};
  code.name = decode_python_text(bytes.first(head.name_bytes), head.name_kind, head.name_cut != 0);
  code.file = decode_python_text(bytes.subspan(head.name_bytes, head.file_bytes), head.file_kind, head.file_cut != 0);
  if (code.line_bytes == 0) {
    deliver(code, take);
  } else {
    if (unfinished_.size() >= kMaxUnfinished) {
      unfinished_.erase(std::min_element(unfinished_.begin(), unfinished_.end(), [](const auto& a, const auto& b) {
        return a.second.number < b.second.number;
        // Drops the oldest code object. A ring buffer was full, so its missing pieces were lost.
      }));
    }
    code.lines.reserve(code.line_bytes);
    code.number = ++last_number_;
    unfinished_.insert_or_assign(head.id, std::move(code));
  }
}

void BpfCodes::on_lines(std::span<const std::byte> event, const Take& take) {
  gpuprof_bpf_lines head{};
  if (!read_header(event, head)) {
    return;
  }
  const auto found = unfinished_.find(head.id);
  const std::span<const std::byte> piece = event.subspan(offsetof(gpuprof_bpf_lines, bytes));
  if (found == unfinished_.end() || head.count > piece.size()) {
    return;
  }
  Code& code = found->second;
  if (head.offset != code.lines.size() || head.count > code.line_bytes - code.lines.size()) {
    unfinished_.erase(found);  // a piece was lost, so the code object stays unknown
    return;
  }
  const auto* first = reinterpret_cast<const uint8_t*>(piece.data());
  code.lines.insert(code.lines.end(), first, first + head.count);
  if (code.lines.size() == code.line_bytes) {
    deliver(code, take);
    unfinished_.erase(found);
  }
}

void BpfCodes::deliver(const Code& code, const Take& take) {
  take(code.pid, {code.id, code.version, code.first_line, code.name, code.file, code.lines});
}

}  // namespace gpuprof::backend
