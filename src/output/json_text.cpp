#include "output/json_text.h"

#include "base/utf8.h"
#include "output/text.h"

namespace gpuprof::output {

std::string json_string(std::string_view text) {
  std::string plain;
  append_escaped(text, {}, plain);
  std::string out = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + '"';
}

void json_path(std::span<const std::string_view> frames, std::string& out, TextStream& stream) {
  json_array(frames, out, [&](std::string_view frame) {
    out += json_string(shown_text(frame));
    stream.checkpoint();
  });
}

std::string& JsonObject::key(std::string_view name) {
  if (!first_) {
    out_ += ',';
  }
  first_ = false;
  return out_.append(json_string(name)).append(":");
}

}  // namespace gpuprof::output
