#include <algorithm>
#include <array>
#include <vector>

#include "base/text/edit_distance.h"
#include "cmd/command.h"
#include "reader/process.h"
#include "symbolize/gpu/xe_disassembler.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kExitCodes =
    "exit codes: 0 success, 1 failure, 2 wrong usage,\n"
    "            3 coverage below --min-coverage, 4 the profile holds no GPU work,\n"
    "            or none that the options ask for;\n"
    "            record: that of the command; 126 if the command cannot be\n"
    "            executed, 127 if it does not exist;\n"
    "            check: 0 pass, 1 regression, 2 unusable input, 125 inconclusive;\n"
    "            ranks: 0 no rank lags, 1 a rank lags, 2 unusable input,\n"
    "            125 inconclusive\n";

}  // namespace

std::span<const Entry> command_table() {
  static constexpr auto kTable = std::to_array<Entry>({
      {"record", "run a program, or attach to one, and record its GPU work", make_record},
      {"flame", "draw a profile as a flame graph, or print folded stacks", make_flame},
      {"report", "print the kernels, functions and call paths with most GPU time", make_report},
      {"annotate", "show source lines with GPU samples, or with launched GPU time", make_annotate},
      {"diff", "show what changed between two or more recordings", make_diff},
      {"check", "test whether new runs cost more GPU time than old ones, in CI", make_check},
      {"latency", "show how long launches take to start, as histograms", make_latency},
      {"export", "convert a profile for pprof, speedscope, Perfetto, SQLite ...", make_export},
      {"ranks", "compare the ranks of a job: which one lags, where, since when", make_ranks},
      {"merge", "combine profiles of several processes, hosts or runs into one", make_merge},
      {"filter", "write a subset of a profile: by time, process, rank, path ...", make_filter},
      {"split", "divide a profile by process, rank, device or time", make_split},
      {"import", "convert recordings of Intel's iaprof into a gpuprof profile", make_import},
      {"dump", "print a profile as text, one record per line", make_dump},
      {"doctor", "show what this machine can record, and how to enable the rest", make_doctor},
      {"completion", "print the shell completions for bash, zsh or fish", make_completion},
      {"manual", "print the manual page of a command", make_manual},
  });
  return kTable;
}

const Entry* find_command(std::string_view name) {
  const auto table = command_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [name](const Entry& entry) { return entry.name == name; });
  if (found != table.end()) {
    return &*found;
  }
  // Internal commands, which gpuprof itself and the shell completions run.
  static constexpr Entry kDisassemble = {symbolize::kDisassembleXe.data(), "print GPU code", make_disassemble};
  static constexpr Entry kRead = {reader::kReadCommand.data(), "read files for a recorder", make_read_for_recorder};
  static constexpr Entry kComplete = {"__complete", "print completions for a command line", make_complete};
  for (const Entry* entry : {&kDisassemble, &kRead, &kComplete}) {
    if (name == entry->name) {
      return entry;
    }
  }
  return nullptr;
}

std::string command_names() {
  std::string names;
  for (const Entry& entry : command_table()) {
    names.append(names.empty() ? "" : ", ").append(entry.name);
  }
  return names;
}

std::string help_text() {
  std::string text =
      "gpuprof shows which code is responsible for which GPU time.\n\nusage: gpuprof <command> [options]\n\n";
  for (const Entry& entry : command_table()) {
    text.append("  ").append(entry.name).append(std::string(12 - std::string_view(entry.name).size(), ' '));
    text.append(entry.summary).append("\n");
  }
  return text + "\n  gpuprof <command> --help       common options; --help-all: all\n  gpuprof --version\n\n" +
         kExitCodes;
}

const Entry* similar_command(std::string_view name) {
  std::vector<std::string> names;
  for (const Entry& entry : command_table()) {
    names.emplace_back(entry.name);
  }
  const auto nearest = nearest_words(name, names);
  return nearest.empty() ? nullptr : find_command(nearest.front());
}

}  // namespace gpuprof::cmd
