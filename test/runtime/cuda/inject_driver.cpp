// Injects a library into a process and prints the result as one line of JSON:
//   inject_driver PID LIBRARY SOCKET TOKEN
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/files/path.h"
#include "base/process/stranger.h"
#include "reader/process.h"
#include "reader/serve.h"
#include "record/attach/inject.h"

int main(int argc, char** argv) {
  // It is also the process that reads files for itself.
  if (argc == 2 && argv[1] == gpuprof::reader::kReadCommand) {
    gpuprof::reader::serve(gpuprof::kDataFd, {});
    return 0;
  }
  if (argc != 5) {
    std::fprintf(stderr, "usage: inject_driver PID LIBRARY SOCKET TOKEN\n");
    return 2;
  }
  std::ifstream in(argv[2], std::ios::binary);
  const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto who = gpuprof::record::TracedIdentity::of(static_cast<uint32_t>(std::atoi(argv[1])));
  const auto injection =
      who ? gpuprof::record::inject({*who, std::string(gpuprof::base_name(argv[2])), bytes, argv[3], argv[4], {}})
          : gpuprof::Result<gpuprof::record::Injection>(who.error());
  if (!injection) {
    std::printf("{\"error\": \"%s\", \"hint\": \"%s\"}\n", injection.error().message.c_str(),
                injection.error().hint.c_str());
    return 1;
  }
  std::ifstream mapped(injection->path, std::ios::binary);
  const std::vector<unsigned char> there{std::istreambuf_iterator<char>(mapped), std::istreambuf_iterator<char>()};
  std::printf("{\"was_there\": %s, \"path_holds_library\": %s}\n", injection->was_there ? "true" : "false",
              there == bytes ? "true" : "false");
  return 0;
}
