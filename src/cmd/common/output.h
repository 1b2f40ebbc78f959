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

// Identifies a file regardless of its name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  uid_t owner = 65534;        // nobody, if unknown
  bool others_write = false;  // users other than the owner may write the file

  static FileId of(int fd);
  bool operator==(const FileId& other) const { return device == other.device && inode == other.inode; }
};

// Checks whether a command that has read `inputs` may write `path` (- is stdout). Fails with exit code kExitUsage if
// that would replace an input or any profile. Checks PATH.old, too, because an existing PATH is renamed to PATH.old.
Status may_write(const std::string& path, std::span<const FileId> inputs);

// Like may_write(), for commands that write profiles: `path` may be an old profile, which is renamed to PATH.old.
Status may_write_profile(const std::string& path, std::span<const FileId> inputs);

// Returns whether both paths lead to the same entry of the same folder, regardless of their spelling.
bool are_same_output(const std::string& one, const std::string& other);

std::string report_command(const std::string& file);

// Writes a file like write_with_backup(), and reports it: "wrote flame.svg, 1.02 MiB: open it in a browser".
Status write_file(const std::string& path, std::string_view advice, const std::function<void(TextStream&)>& write);
void report_written(const WrittenFile& written, std::string_view advice);

}  // namespace gpuprof::cmd
