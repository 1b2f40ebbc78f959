// Checks and writes the output files of commands, without overwriting inputs or profiles.
#pragma once

#include <sys/types.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/files/file.h"
#include "base/result.h"

namespace gpuprof::cmd {

// Identifies a file by what it is and not by its name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  static FileId of(int fd);
  bool operator==(const FileId& other) const = default;
};

// Checks whether a command that has read `inputs` may write `path` (- is stdout). Fails with the exit code kExitUsage
// if that would replace an input or any profile. Also checks PATH.old, because writing renames an existing PATH to
// PATH.old.
Status may_write(const std::string& path, std::span<const FileId> inputs);

// Like may_write(), for commands that write a profile. `path` may then be an old profile, which is renamed to
// PATH.old.
Status may_write_profile(const std::string& path, std::span<const FileId> inputs);

// Returns whether both paths mean the same entry of the same folder, even if they are written differently.
bool are_same_output(const std::string& one, const std::string& other);

std::string report_command(const std::string& file);

// Writes a file like write_with_backup(), and prints a line such as "wrote flame.svg, 1.02 MiB: open it in a
// browser".
Status write_file(const std::string& path, std::string_view advice, const std::function<void(TextStream&)>& write);
void report_written(const WrittenFile& written, std::string_view advice);

}  // namespace gpuprof::cmd
