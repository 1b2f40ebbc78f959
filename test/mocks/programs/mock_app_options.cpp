#include <cstring>

#include "mock_app.h"

namespace gpuprof::mock_app {
namespace {

struct Number {
  const char* name;
  int Options::*value;
};
constexpr Number kNumbers[] = {{"--launches", &Options::launches},
                               {"--threads", &Options::threads},
                               {"--graph", &Options::graph_launches},
                               {"--graph-nodes", &Options::graph_nodes},
                               {"--graph-replays", &Options::graph_replays},
                               {"--graph-instances", &Options::graph_instances},
                               {"--streams", &Options::streams},
                               {"--per-stream", &Options::per_stream},
                               {"--sync", &Options::syncs},
                               {"--alloc", &Options::allocs},
                               {"--managed", &Options::managed},
                               {"--variants", &Options::variants},
                               {"--fail", &Options::failures},
                               {"--modules", &Options::modules},
                               {"--rate", &Options::rate},
                               {"--seconds", &Options::seconds},
                               {"--stacks", &Options::stacks},
                               {"--gap-us", &Options::gap_us},
                               {"--sleep-ms", &Options::sleep_ms}};

struct Flag {
  const char* name;
  bool Options::*value;
};
constexpr Flag kFlags[] = {{"--driver-api", &Options::driver_api},
                           {"--kernels-only", &Options::kernels_only},
                           {"--fork", &Options::fork_child},
                           {"--unfinished", &Options::unfinished},
                           {"--capture-thread", &Options::capture_thread},
                           {"--clone-graph", &Options::clone_graph},
                           {"--update-graph", &Options::update_graph},
                           {"--close-fds", &Options::close_fds}};

struct Text {
  const char* name;
  const char* Options::*value;
};
constexpr Text kTexts[] = {{"--load", &Options::load}, {"--ending", &Options::ending}, {"--until", &Options::until}};

constexpr const char* kEndings[] = {"return", "_exit", "abort", "segv", "kill", "exec", "reset", "late"};

[[noreturn]] void usage() {
  fprintf(stderr, "usage: mock_cuda_app");
  for (const Number& number : kNumbers) {
    fprintf(stderr, " [%s N]", number.name);
  }
  for (const Flag& flag : kFlags) {
    fprintf(stderr, " [%s]", flag.name);
  }
  fprintf(stderr, " [--load LIBRARY] [--until FILE] [--ending");
  for (const char* ending : kEndings) {
    fprintf(stderr, "%c%s", ending == kEndings[0] ? ' ' : '|', ending);
  }
  fprintf(stderr, "]\n");
  exit(2);
}

bool take(Options& options, const char* name, const char* value, bool* used_value) {
  for (const Flag& flag : kFlags) {
    if (strcmp(flag.name, name) == 0) {
      options.*flag.value = true;
      return true;
    }
  }
  *used_value = true;
  for (const Number& number : kNumbers) {
    if (value != nullptr && strcmp(number.name, name) == 0) {
      options.*number.value = atoi(value);
      return true;
    }
  }
  for (const Text& text : kTexts) {
    if (value != nullptr && strcmp(text.name, name) == 0) {
      options.*text.value = value;
      return true;
    }
  }
  return false;
}

}  // namespace

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    bool used_value = false;
    if (!take(options, argv[i], i + 1 < argc ? argv[i + 1] : nullptr, &used_value)) {
      usage();
    }
    i += used_value ? 1 : 0;
  }
  for (const char* ending : kEndings) {
    if (strcmp(ending, options.ending) == 0) {
      return options;
    }
  }
  usage();
}

}  // namespace gpuprof::mock_app
