#include "record/bpf/python_search.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/files/path.h"
#include "base/log.h"
#include "reader/file_symbols.h"
#include "wire/python_layouts.h"

namespace gpuprof::record {
namespace {

constexpr uint32_t kInterpreterBytes = 4096;  // this many bytes of PyInterpreterState are searched

bool is_named(const symbolize::Mapping& mapping, std::string_view begin) {
  return mapping.file && mapping.file->fd && !mapping.gone && base_name(mapping.file->path).starts_with(begin);
}

// The symbols of an interpreter, at their addresses in the process.
class Interpreter {
 public:
  Interpreter(reader::Process& reader, const symbolize::ProcessMaps& maps, const symbolize::Mapping& mapping)
      : maps_(maps) {
    const auto symbols =
        reader::find_symbols(reader, mapping.file->fd.get(), {kNames.begin(), kNames.end()}, mapping.offset);
    if (symbols.mapped) {
      for (const symbolize::ElfSymbol& symbol : symbols.found) {
        addresses_[symbol.wanted] = symbol.vaddr + mapping.start - *symbols.mapped;
        sizes_[symbol.wanted] = symbol.size;
      }
    }
  }

  enum Symbol : uint8_t { runtime, code_type, evaluation, version };

  [[nodiscard]] uint64_t address(Symbol symbol) const { return addresses_[symbol]; }  // 0: unknown
  [[nodiscard]] uint64_t end(Symbol symbol) const { return addresses_[symbol] + sizes_[symbol]; }

  [[nodiscard]] std::optional<uint64_t> word(uint64_t at) const {
    uint64_t value = 0;
    return maps_.read_memory(at, &value, sizeof(value)) ? std::optional(value) : std::nullopt;
  }

  // Checks that the type's name is "code". This confirms the address of the type and the offset of an object's type
  // field.
  [[nodiscard]] bool is_code_type(uint64_t type, const gpuprof_python_layout& layout) const {
    constexpr uint32_t kNameBehindType = 16;
    std::array<char, 5> text{};
    const auto name = word(type + layout.code_type_field + kNameBehindType);
    return name && maps_.read_memory(*name, text.data(), text.size()) &&
           std::string_view(text.data(), text.size()) == std::string_view("code", text.size());
  }

 private:
  static constexpr std::array<std::string_view, 4> kNames = {"_PyRuntime", "PyCode_Type", "_PyEval_EvalFrameDefault",
                                                             "Py_Version"};
  const symbolize::ProcessMaps& maps_;
  std::array<uint64_t, kNames.size()> addresses_{};
  std::array<uint64_t, kNames.size()> sizes_{};
};

gpuprof_python_threads python_threads_of(const Interpreter& python, const PythonLayout& layout) {
  gpuprof_python_threads threads{};
  const uint64_t at = python.address(Interpreter::runtime) + layout.runtime_interpreter;
  const auto main = layout.runtime_interpreter != 0 ? python.word(at) : std::nullopt;
  if (!main || *main == 0) {
    return threads;
  }
  threads.first = layout.interpreter_threads;
  if (threads.first == 0) {
    threads.first =
        find_first_thread(*main, layout.thread_interpreter, [&](uint64_t from) { return python.word(from); });
  }
  threads.interpreter = threads.first != 0 ? at : 0;
  threads.next = layout.thread_next;
  threads.ident = layout.thread_ident;
  return threads;
}

}  // namespace

uint32_t version_of_name(std::string_view file) {
  constexpr std::string_view kName = "python";
  const size_t found = file.find(kName);
  unsigned major = 0;
  unsigned minor = 0;
  const char* const end = file.data() + file.size();
  const char* const begin = found == std::string_view::npos ? end : file.data() + found + kName.size();
  const auto first = std::from_chars(begin, end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.' ||
      std::from_chars(first.ptr + 1, end, minor).ec != std::errc{} || major > UINT8_MAX || minor > UINT8_MAX) {
    return 0;
  }
  return major << 24U | minor << 16U;
}

uint32_t find_first_thread(uint64_t interpreter, uint16_t back, const ReadWord& read) {
  for (uint32_t offset = 0; offset < kInterpreterBytes; offset += sizeof(uint64_t)) {
    const auto thread = read(interpreter + offset);
    if (!thread) {
      return 0;
    }
    // The first thread state has no predecessor, so its first field is 0.
    if (*thread != 0 && *thread % sizeof(uint64_t) == 0 && read(*thread + back) == interpreter && read(*thread) == 0) {
      return offset;
    }
  }
  return 0;
}

const symbolize::Mapping* find_interpreter(const symbolize::ProcessMaps& maps) {
  const auto& all = maps.mappings();
  // Prefer libpython, because the program's own file may only call that library.
  for (const std::string_view begin : {"libpython", "python"}) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return is_named(one, begin); });
    if (found != all.end()) {
      return &*found;
    }
  }
  return nullptr;
}

std::optional<FoundPython> read_interpreter(reader::Process& reader, const symbolize::ProcessMaps& maps,
                                            const symbolize::Mapping& interpreter) {
  const Interpreter python(reader, maps, interpreter);
  if (python.address(Interpreter::runtime) == 0 || python.address(Interpreter::code_type) == 0) {
    return std::nullopt;
  }
  uint32_t version = version_of_name(base_name(interpreter.file->path));
  if (const uint64_t at = python.address(Interpreter::version); at != 0) {
    version = static_cast<uint32_t>(python.word(at).value_or(0));
  }
  std::array<char, kPythonRuntimeBytes> runtime{};
  PythonLayout layout{};
  const bool readable = maps.read_memory(python.address(Interpreter::runtime), runtime.data(), runtime.size());
  const char* refused = readable ? layout_of_python(version, runtime.data(), &layout) : "it cannot be read";
  if (refused == nullptr && !python.is_code_type(python.address(Interpreter::code_type), layout.wire)) {
    refused = "its structures do not match its version";
  }
  FoundPython found{layout.wire, {}};
  if (refused == nullptr) {
    found.threads = python_threads_of(python, layout);
    refused = found.threads.interpreter == 0 ? "its threads were not found" : nullptr;
  }
  if (refused != nullptr) {
    log::debug("no Python frames of process " + std::to_string(maps.pid()) + ": " + refused);
    return std::nullopt;
  }
  found.layout.code_type = python.address(Interpreter::code_type);
  found.layout.eval_begin = python.address(Interpreter::evaluation);
  found.layout.eval_end = python.end(Interpreter::evaluation);
  return found;
}

}  // namespace gpuprof::record
