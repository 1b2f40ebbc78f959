// Text on its way out, in bounded memory: it is put together piece by piece and handed on whenever there is enough.
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

  // Adds a piece of any length.
  void append(std::string_view piece) {
    if (piece.size() >= kEnough) {
      flush();
      give(piece);
    } else {
      text_ += piece;
      checkpoint();
    }
  }

  // For those who write to a string: pieces of bounded length go behind it, and a checkpoint() after each.
  std::string& text() { return text_; }
  void checkpoint() {
    if (text_.size() >= kEnough) {
      flush();
    }
  }

  // The sink has refused something, and gets nothing more: there is no use in going on.
  [[nodiscard]] bool failed() const { return !status_; }

  // Hands on what is left. The sink's first failure.
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

// What `write` puts into a stream, as one text: for what is known to be small.
template <typename Write>
std::string collect_text(Write write) {
  std::string text;
  TextStream out([&text](std::string_view piece) {
    text += piece;
    return Status();
  });
  write(out);
  static_cast<void>(out.finish());  // a string takes everything
  return text;
}

}  // namespace gpuprof
