#include "backend/bpf_codes.h"

#include <cstring>

#include "catch.h"

namespace {

using gpuprof::backend::BpfCodes;
using gpuprof::backend::decode_python_text;

struct CodeSink {
  void operator()(uint32_t pid, const gpuprof::backend::PythonCode& code) {
    got.push_back(std::to_string(pid) + ":" + std::to_string(code.id) + ":" + std::string(code.name) + ":" +
                  std::string(code.file) + ":" + std::to_string(code.line_table.size()));
    line_table.assign(code.line_table.begin(), code.line_table.end());
  }
  std::vector<std::string> got;
  std::vector<uint8_t> line_table;
};

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

struct CodeEvent {
  gpuprof_bpf_code code{};
  CodeEvent(uint32_t id, std::string_view name, std::string_view file, uint32_t line_bytes) {
    code.type = GPUPROF_BPF_CODE;
    code.pid = 5;
    code.id = id;
    code.name_kind = code.file_kind = 1;
    code.name_bytes = static_cast<uint32_t>(name.size());
    code.file_bytes = static_cast<uint32_t>(file.size());
    code.line_bytes = line_bytes;
    std::memcpy(code.bytes, name.data(), name.size());
    std::memcpy(code.bytes + name.size(), file.data(), file.size());
  }
  [[nodiscard]] std::span<const std::byte> bytes(size_t text) const {
    return std::as_bytes(std::span(&code, 1)).first(offsetof(gpuprof_bpf_code, bytes) + text);
  }
};

struct LinesEvent {
  gpuprof_bpf_lines lines{};
  LinesEvent(uint32_t id, uint32_t offset, uint32_t count) {
    lines.type = GPUPROF_BPF_LINES;
    lines.id = id;
    lines.offset = offset;
    lines.count = count;
    std::memset(lines.bytes, static_cast<int>(offset / GPUPROF_BPF_LINES_BYTES) + 1, sizeof(lines.bytes));
  }
  [[nodiscard]] std::span<const std::byte> bytes(size_t count) const {
    return std::as_bytes(std::span(&lines, 1)).first(offsetof(gpuprof_bpf_lines, bytes) + count);
  }
};

}  // namespace

TEST_CASE("Python strings of all character widths become UTF-8") {
  CHECK(decode_python_text(bytes_of("na\xEFve"), 1, false) == "na\xC3\xAFve");
  CHECK(decode_python_text(bytes_of(std::string_view("\x3B\x04\x61\x00", 4)), 2, false) ==
        "\xD0\xBB"
        "a");
  CHECK(decode_python_text(bytes_of(std::string_view("\x00\xF6\x01\x00", 4)), 4, false) == "\xF0\x9F\x98\x80");
  CHECK(decode_python_text(bytes_of(std::string_view("\xFF\xFF\xFF\xFF", 4)), 4, false) == "\xEF\xBF\xBD");
  CHECK(decode_python_text(bytes_of(std::string_view("\x00\xD8", 2)), 2, false) == "\xEF\xBF\xBD");
  CHECK(decode_python_text(bytes_of("half"), 3, false).empty());
  CHECK(decode_python_text(bytes_of("abc"), 2, false).size() == 3);  // the odd byte is ignored
}

TEST_CASE("a file name byte that is not UTF-8 is restored") {
  CHECK(decode_python_text(bytes_of(std::string_view("\x80\xDC", 2)), 2, false) == "\x80");
}

TEST_CASE("a long string is cut at a character boundary and marked") {
  const std::string wide(GPUPROF_BPF_CODE_TEXT, '\xE9');  // each needs two bytes in UTF-8
  const std::string text = decode_python_text(bytes_of(wide), 1, false);
  CHECK(text.size() <= GPUPROF_BPF_CODE_TEXT);
  CHECK(text.size() > GPUPROF_BPF_CODE_TEXT - 4);
  CHECK(text.substr(text.size() - 5) == "\xC3\xA9...");
  CHECK(decode_python_text(bytes_of("short"), 1, true) == "short...");
}

TEST_CASE("a code object is delivered when its line table is complete") {
  BpfCodes codes;
  CodeSink sink;
  codes.on_code(CodeEvent(1, "f", "a.py", 0).bytes(5), std::ref(sink));
  CHECK(sink.got == std::vector<std::string>{"5:1:f:a.py:0"});
  codes.on_code(CodeEvent(2, "g", "b.py", 5000).bytes(5), std::ref(sink));
  codes.on_lines(LinesEvent(2, 0, 4096).bytes(4096), std::ref(sink));
  CHECK(sink.got.size() == 1);
  codes.on_lines(LinesEvent(2, 4096, 904).bytes(904), std::ref(sink));
  CHECK(sink.got.back() == "5:2:g:b.py:5000");
  CHECK(sink.line_table[4095] == 1);
  CHECK(sink.line_table[4096] == 2);
}

TEST_CASE("fragments that contradict each other are dropped") {
  BpfCodes codes;
  CodeSink sink;
  codes.on_lines(LinesEvent(9, 0, 10).bytes(10), std::ref(sink));  // code object 9 is unknown
  codes.on_code(CodeEvent(3, "f", "a.py", 5000).bytes(5), std::ref(sink));
  codes.on_lines(LinesEvent(3, 4096, 904).bytes(904), std::ref(sink));  // the first fragment is missing
  codes.on_lines(LinesEvent(3, 0, 4096).bytes(4096), std::ref(sink));
  codes.on_code(CodeEvent(4, "f", "a.py", 10).bytes(5), std::ref(sink));
  codes.on_lines(LinesEvent(4, 0, 11).bytes(11), std::ref(sink));  // one byte too many
  CodeEvent longer(5, "f", "a.py", 0);
  longer.code.name_bytes = 4000;  // more bytes than the event has
  codes.on_code(longer.bytes(5), std::ref(sink));
  codes.on_code(longer.bytes(5).first(8), std::ref(sink));
  longer.code.name_bytes = UINT32_MAX;
  codes.on_code(longer.bytes(5), std::ref(sink));
  LinesEvent cut(6, 0, 4096);
  codes.on_code(CodeEvent(6, "f", "a.py", 4096).bytes(5), std::ref(sink));
  codes.on_lines(cut.bytes(100), std::ref(sink));
  CHECK(sink.got.empty());
}
