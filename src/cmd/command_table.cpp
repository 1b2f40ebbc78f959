#include <array>

#include "cmd/command.h"

namespace gpuprof::cmd {

std::span<const Entry> command_table() {
  static constexpr std::array<Entry, 5> kTable = {{
      {"record", "run a program and record its GPU work", make_record},
      {"flame", "fold a profile into flame graph stacks, or draw it", make_flame},
      {"report", "show the heaviest GPU work and call paths", make_report},
      {"dump", "print a profile one record a line", make_dump},
      {"doctor", "say what this machine can record and what is missing", make_doctor},
  }};
  return kTable;
}

}  // namespace gpuprof::cmd
