#include <algorithm>
#include <array>

#include "base/text/edits.h"
#include "cmd/command.h"
#include "symbolize/gpu/xe_disassembler.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kExitCodes =
    "exit codes: 0 success, 1 failure, 2 usage, 3 less coverage than --min-coverage,\n"
    "            4 the profile holds nothing of what was asked for;\n"
    "            record exits as the program that it runs, 126 if that can not be\n"
    "            executed, 127 if it does not exist;\n"
    "            check: 0 pass, 1 regression, 2 unusable input, 125 inconclusive;\n"
    "            ranks: 0 no rank lags, 1 one does, 2 unusable, 125 inconclusive\n";

}  // namespace

std::span<const Entry> command_table() {
  static constexpr auto kTable = std::to_array<Entry>({
      {"record", "run a program and record its GPU work", make_record},
      {"flame", "fold a profile into flame graph stacks, or draw it", make_flame},
      {"report", "show the heaviest GPU work and call paths", make_report},
      {"annotate", "show the source of kernels with their samples and stalls", make_annotate},
      {"diff", "show what has changed between recordings", make_diff},
      {"check", "judge whether new runs cost more GPU time than old ones", make_check},
      {"latency", "show how long launches take to start, as histograms", make_latency},
      {"export", "write a file for another tool: pprof, speedscope, Perfetto", make_export},
      {"ranks", "compare the ranks of a job: who lags, where, since when", make_ranks},
      {"merge", "join the profiles of several processes or hosts", make_merge},
      {"filter", "keep a part of a profile: a time, process, rank, path ...", make_filter},
      {"split", "make a profile of each process, rank, device or time", make_split},
      {"import", "make a profile of those that Intel's iaprof has stored", make_import},
      {"dump", "print a profile one record a line", make_dump},
      {"doctor", "say what this machine can record and what is missing", make_doctor},
      {"completion", "print completions of options for bash, zsh or fish", make_completion},
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
  // Commands that gpuprof or shell completions run, but not users.
  static constexpr Entry kDisassemble = {symbolize::kDisassembleXe.data(), "print GPU code", make_disassemble};
  static constexpr Entry kComplete = {"__complete", "print what fits at the end of a command line", make_complete};
  return name == kDisassemble.name ? &kDisassemble : name == kComplete.name ? &kComplete : nullptr;
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
  return text + "\n  gpuprof <command> --help       its options; all of them: --help-all\n  gpuprof --version\n\n" +
         kExitCodes;
}

const Entry* similar_command(std::string_view name) {
  constexpr size_t kLongest = 16;  // longest misspelt name that is compared
  constexpr size_t kMostEdits = 2;
  const Entry* best = nullptr;
  size_t fewest = kMostEdits + 1;
  for (const Entry& entry : command_table()) {
    const size_t needed = name.size() > kLongest ? fewest : edits(name, entry.name);
    if (needed < fewest && needed < name.size()) {
      fewest = needed;
      best = &entry;
    }
  }
  return best;
}

}  // namespace gpuprof::cmd
