// Compresses an output stream in gzip format.
#pragma once

#include <memory>
#include <string_view>

#include "base/text/text_stream.h"

namespace gpuprof::output {

class Gzip {
 public:
  explicit Gzip(TextStream& out);
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip();

  void append(std::string_view piece);
  void finish();  // must be called once, after the last piece

 private:
  struct State;
  void compress(std::string_view piece, int flush);

  TextStream& out_;
  std::unique_ptr<State> state_;
};

}  // namespace gpuprof::output
