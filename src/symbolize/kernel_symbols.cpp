#include "symbolize/kernel_symbols.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/files/file.h"

namespace gpuprof::symbolize {
namespace {

constexpr size_t kMaxBytes = 64U << 20;  // limit of the file's size; a kernel with many modules has about 15 MB
// An address farther than this behind a symbol is not in the symbol's function.
constexpr uint64_t kMaxFunction = 1 << 20;
constexpr std::string_view kKernel = "[kernel]";
// If a BPF program is attached to a function, the function first calls a trampoline with this name.
constexpr std::string_view kTrampoline = "bpf_trampoline_";

// Returns true for a frame of the tracepoint machinery or of the BPF program. The BPF program's frame has no name.
bool is_of_tracepoint(std::string_view name) {
  return name.starts_with("__traceiter_") || name.starts_with("__bpf_trace_") || name.starts_with("bpf_trace_run") ||
         name.starts_with("bpf_prog_") || name.starts_with("bpf_get_stack");
}

}  // namespace

// Parses "ffffffff81000000 T name". In lines of kernel modules, "\t[module]" follows.
void KernelSymbols::add(std::string_view line) {
  Symbol symbol;
  const char* const end = line.data() + line.size();
  const auto parsed = std::from_chars(line.data(), end, symbol.address, 16);
  if (parsed.ec != std::errc{} || end - parsed.ptr < 4 || symbol.address == 0 ||
      std::string_view("tTwW").find(parsed.ptr[1]) == std::string_view::npos) {
    return;
  }
  std::string_view name(parsed.ptr + 3, end);
  const size_t tab = name.find('\t');
  const std::string_view module = tab == std::string_view::npos ? kKernel : name.substr(tab + 1);
  symbol.name = static_cast<uint32_t>(texts_.size());
  texts_.append(name.substr(0, tab)).push_back('\0');
  texts_.append(module).push_back('\0');
  symbols_.push_back(symbol);
}

void KernelSymbols::read() {
  has_read_ = true;
  const std::string text = read_text(path_, kMaxBytes);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    add(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
}

bool KernelSymbols::are_shown() {
  if (!has_read_) {
    read();
  }
  return !symbols_.empty();
}

SymbolizedFrame KernelSymbols::frame_at(uint64_t address) const {
  SymbolizedFrame frame;
  frame.kind = profile::FrameKind::kernel;
  frame.name = "[unknown]";
  frame.module = kKernel;
  auto found = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                [](uint64_t at, const Symbol& symbol) { return at < symbol.address; });
  if (found == symbols_.begin() || address - (found - 1)->address > kMaxFunction) {
    return frame;
  }
  --found;
  while (found != symbols_.begin() && (found - 1)->address == found->address) {
    --found;  // use the first of several symbols with this address
  }
  frame.name = texts_.c_str() + found->name;
  frame.module = texts_.c_str() + found->name + frame.name.size() + 1;
  return frame;
}

void KernelSymbols::name(std::span<const uint64_t> addresses, std::vector<SymbolizedFrame>& out) {
  if (addresses.empty()) {
    return;
  }
  if (!are_shown()) {
    SymbolizedFrame hidden;
    hidden.kind = profile::FrameKind::kernel;
    hidden.name = kKernel;
    hidden.module = kKernel;
    out.push_back(std::move(hidden));
    return;
  }
  constexpr size_t kMostOfTracepoint = 8;
  std::vector<SymbolizedFrame> frames;
  size_t first = 0;
  bool by_trampoline = false;
  for (const uint64_t address : addresses) {
    // The address before a return address is in the call, even if the call is the last instruction of its function.
    SymbolizedFrame frame = frame_at(address - 1);
    if (frame.name.starts_with(kTrampoline)) {
      by_trampoline = true;
    } else if (!std::exchange(by_trampoline, false) || frames.empty() || frames.back().name != frame.name) {
      frames.push_back(std::move(frame));
    }
    if (frames.size() <= kMostOfTracepoint && !frames.empty() && is_of_tracepoint(frames.back().name)) {
      first = frames.size();
    }
  }
  out.insert(out.end(), std::make_move_iterator(frames.rbegin()), std::make_move_iterator(frames.rend() - first));
}

}  // namespace gpuprof::symbolize
