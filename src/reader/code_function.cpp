#include "reader/code_function.h"

namespace gpuprof::reader {

void append_function(Message& to, const CodeFunction& function) {
  to.number(function.known ? 1 : 0).number(function.has_lines ? 1 : 0).text(function.kernel).number(function.symbol);
  to.number(function.begin).number(function.bytes).number(function.offset);
}

CodeFunction take_function(Message& from) {
  CodeFunction function;
  function.known = from.number() != 0;
  function.has_lines = from.number() != 0;
  function.kernel = from.text();
  function.symbol = static_cast<uint32_t>(from.number());
  function.begin = from.number();
  function.bytes = from.number();
  function.offset = from.number();
  return from.ok() ? function : CodeFunction();
}

}  // namespace gpuprof::reader
