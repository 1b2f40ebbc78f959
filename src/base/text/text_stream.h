// Collects output text in limited memory, and passes it to a sink piece by piece.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace gpuprof {

class TextStream {
 public:
  using Sink = std::function<Status(std::string_view)>;

  explicit TextStream(Sink sink) : sink_(std::move(sink)) {}

  void append(std::string_view piece) {
    if (piece.size() >= kEnough) {
      flush();
      give(piece);
    } else {
      text_ += piece;
      checkpoint();
    }
  }

  // For code that appends to a string. It must append pieces of limited length, and call checkpoint() after each.
  std::string& text() { return text_; }
  void checkpoint() {
    if (text_.size() >= kEnough) {
      flush();
    }
  }

  // True after the sink has failed. The sink then receives no more text, so the caller can stop.
  [[nodiscard]] bool failed() const { return !status_; }

  // Passes on the remaining text. Returns the sink's first error.
  Status finish() {
    flush();
    return status_;
  }

 private:
  static constexpr size_t kEnough = size_t{1} << 16U;

  void flush() {
    give(text_);
    text_.clear();
  }
  void give(std::string_view piece) {
    if (status_ && !piece.empty()) {
      status_ = sink_(piece);
    }
  }

  Sink sink_;
  std::string text_;
  Status status_;
};

// Collects the output of `write` in one string. Only for small texts.
template <typename Write>
std::string collect_text(Write write) {
  std::string text;
  TextStream out([&text](std::string_view piece) {
    text += piece;
    return Status();
  });
  write(out);
  static_cast<void>(out.finish());  // appending to a string does not fail
  return text;
}

}  // namespace gpuprof
