// Files that commands write: what must not be lost by it, and what is said of it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/files/file.h"
#include "base/result.h"

namespace gpuprof::cmd {

// Which file it is, whatever it is called.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  uid_t owner = 65534;        // nobody, where it is not known
  bool others_write = false;  // its group, or all

  static FileId of(int fd);
  bool operator==(const FileId& other) const { return device == other.device && inode == other.inode; }
};

// That a command which has read `inputs` may write what it makes of them to `path`: that is none of them (nor is it
// what `path` would be kept as), and no other profile is lost by it either. The Error has the exit code kExitUsage.
// `path` may be - .
Status may_write(const std::string& path, std::span<const FileId> inputs);

// The same for a command that writes profiles, in whose place others are kept as NAME.old.
Status may_write_profile(const std::string& path, std::span<const FileId> inputs);

// That both lead to one entry of one folder, however they are spelt.
bool are_same_output(const std::string& one, const std::string& other);

// With which the user looks at the profile.
std::string report_command(const std::string& file);

// Writes a file as write_keeping_old() does, and tells its name, its size and what to do with it: "wrote
// flame.svg, 1.02 MiB: open it in a browser".
Status write_file(const std::string& path, std::string_view advice, const std::function<void(TextStream&)>& write);
void tell_written(const WrittenFile& written, std::string_view advice);

}  // namespace gpuprof::cmd
