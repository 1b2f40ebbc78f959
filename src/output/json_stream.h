// Writes JSON piece by piece. nlohmann's library formats strings and small values. Large values (events of a trace,
// lines of a report, frames of a path) go into the stream member by member, to bound memory.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "analyze/rows/time_window.h"
#include "base/text/append_number.h"
#include "base/text/text_stream.h"

namespace gpuprof::output {

using Json = nlohmann::ordered_json;  // members stay in the order in which they were added

// Never throws: replaces bytes that are not UTF-8 by U+FFFD. By default the text is a single line.
std::string json_text(const Json& value, int indent = -1);

// Quotes any text. Bytes that are not UTF-8, and characters that deceive a terminal, become \xHH as in all outputs.
std::string json_string(std::string_view text);

// Writes the members of an object, with commas between them. The destructor closes the object.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  ~JsonObject() { out_ += '}'; }

  // key() and escaped_key() return `out`, and the caller appends the value to it. key() and word() do not escape: pass
  // only text without quotes, backslashes and control characters.
  std::string& key(std::string_view name);
  std::string& escaped_key(std::string_view name);
  void number(std::string_view name, uint64_t value) { append_number(value, key(name)); }
  void flag(std::string_view name, bool value) { key(name) += value ? "true" : "false"; }
  void word(std::string_view name, std::string_view value) { key(name).append("\"").append(value).append("\""); }
  void text(std::string_view name, std::string_view value) { key(name) += json_string(value); }
  void value(std::string_view name, const Json& value);

 private:
  std::string& separated();

  std::string& out_;
  bool first_ = true;
};

template <typename Iterator, typename Put>
void json_array(Iterator begin, Iterator end, std::string& out, Put put) {
  out += '[';
  for (Iterator element = begin; element != end; ++element) {
    if (element != begin) {
      out += ',';
    }
    put(*element);
  }
  out += ']';
}

template <typename Range, typename Put>
void json_array(const Range& range, std::string& out, Put put) {
  json_array(range.begin(), range.end(), out, put);
}

// Writes a time window: {"from_ns":2000000000,"to_ns":3500000000}. Omits to_ns if the window has no end.
void json_window(const analyze::TimeWindow& window, std::string& out);

// Writes META lines as an object of lists: the values of a repeated key form one list.
void json_meta(const std::multimap<std::string, std::string>& meta, std::string& out, TextStream& stream);

// Writes counts as an object such as {"ring_full":3}.
void json_counts(const std::map<std::string, uint64_t>& counts, std::string& out);

void json_texts(const std::vector<std::string>& texts, std::string& out);

// Writes the frames of a call path in bounded memory, each shortened to kMostShownBytes.
void json_path(std::span<const std::string_view> frames, std::string& out, TextStream& stream);

}  // namespace gpuprof::output
