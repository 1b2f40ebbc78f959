// GPU code that a reader has been given, and what it is asked about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/unique_fd.h"
#include "reader/code_function.h"
#include "reader/message.h"
#include "symbolize/gpu/cubin_lines.h"
#include "symbolize/gpu/zebin.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::reader {

class ServedCode {
 public:
  explicit ServedCode(symbolize::ReadingBudget& budget) : budget_(budget) {}

  // Answer the requests Ask::code, Ask::code_function and Ask::code_lines.
  void open(Message& request, const UniqueFd& fd, Message& reply);
  void function(Message& request, Message& reply);
  void lines(Message& request, Message& reply);

 private:
  struct Code {
    std::optional<symbolize::CubinLines> cubin;
    std::unordered_map<std::string_view, const symbolize::CubinFunction*> functions;  // of the cubin, by name
    std::unordered_map<uint32_t, std::string_view> kernels;                           // of the cubin, by section
    std::unique_ptr<symbolize::Zebin> zebin;
  };
  void open_cubin(Code& code, std::span<const std::byte> bytes);
  Code* find(uint64_t id);
  static CodeFunction describe(const Code& code, std::string_view name);

  symbolize::ReadingBudget& budget_;
  std::map<uint64_t, Code> codes_;
};

}  // namespace gpuprof::reader
