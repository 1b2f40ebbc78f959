// JSON, written piece by piece.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/text_stream.h"

namespace gpuprof::output {

// A JSON string. Bytes that are not UTF-8 have no place in JSON: they are shown as \xHH, control bytes too.
std::string json_string(std::string_view text);

// Puts commas where they belong. Ends its object when it goes out of scope.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  ~JsonObject() { out_ += '}'; }

  std::string& key(std::string_view name);  // the value goes behind it
  void number(std::string_view name, uint64_t value) { key(name) += std::to_string(value); }
  void flag(std::string_view name, bool value) { key(name) += value ? "true" : "false"; }
  void text(std::string_view name, std::string_view value) { key(name) += json_string(value); }

 private:
  std::string& out_;
  bool first_ = true;
};

template <typename Range, typename Put>
void json_array(const Range& range, std::string& out, Put put) {
  out += '[';
  bool first = true;
  for (const auto& element : range) {
    if (!first) {
      out += ',';
    }
    first = false;
    put(element);
  }
  out += ']';
}

// The frames of a call path, each up to kMostShownBytes, in bounded memory.
void json_path(std::span<const std::string_view> frames, std::string& out, TextStream& stream);

}  // namespace gpuprof::output
