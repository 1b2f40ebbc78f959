// Records with sources in the recorder's own process, as with a backend that reads a device or the kernel.
// usage: record_sources FOLDER PROFILE OPTION... -- COMMAND...
//   --paused       recording begins at SIGUSR1
//   --fail         the second source cannot be started
//   --whole        no sample is dropped
//   --bpf, --none  the stack engine

#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/process/stranger.h"
#include "reader/process.h"
#include "reader/serve.h"
#include "record/session.h"
#include "scripted_source.h"

namespace {

using gpuprof::record::StackChoice;

int run(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto has = [&](const char* option) { return std::find(arguments.begin(), end, option) != end; };
  if (arguments.size() < 2 || end == arguments.end()) {
    return 2;
  }
  gpuprof::record::SessionOptions options;
  options.output = arguments[1];
  options.command.assign(end + 1, arguments.end());
  options.stacks = has("--bpf") ? StackChoice::bpf : has("--none") ? StackChoice::none : StackChoice::best;
  options.recording.paused = has("--paused");
  gpuprof::backend::Backends backends;
  backends.push_back(gpuprof::test::make_sampler(arguments[0], !has("--whole")));
  backends.push_back(gpuprof::test::make_second(arguments[0], has("--fail")));
  const auto result = gpuprof::record::run_session(options, std::move(backends));
  if (!result) {
    gpuprof::log::error(result.error());
    return result.error().exit_code;
  }
  return WIFSIGNALED(result->wait_status) ? 128 + WTERMSIG(result->wait_status) : WEXITSTATUS(result->wait_status);
}

}  // namespace

int main(int argc, char** argv) {
  // It is also the process that reads files for itself.
  if (argc == 2 && argv[1] == gpuprof::reader::kReadCommand) {
    gpuprof::reader::serve(gpuprof::kDataFd, {});
    return 0;
  }
  return run({argv + 1, argv + argc});
}
