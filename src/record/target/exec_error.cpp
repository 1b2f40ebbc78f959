#include "record/target/exec_error.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/exit_status.h"
#include "base/files/file.h"
#include "base/text/shell.h"

namespace gpuprof::record {
namespace {

constexpr const char* kTry = "try: gpuprof record -- ";

bool is_builtin(std::string_view name) {
  constexpr std::string_view kBuiltins[] = {".",      "alias", "cd",     "command", "declare", "eval",  "exec", "exit",
                                            "export", "local", "module", "popd",    "pushd",   "read",  "set",  "shopt",
                                            "source", "trap",  "type",   "ulimit",  "umask",   "unset", "wait"};
  return std::find(std::begin(kBuiltins), std::end(kBuiltins), name) != std::end(kBuiltins);
}

// Returns whether a shell would read the word as an assignment, such as "FOO=1".
bool is_assignment(std::string_view word) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  return equals != std::string_view::npos && !name.empty() && (name[0] < '0' || name[0] > '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
         });
}

std::string through(const char* program, std::span<const std::string> command) {
  return std::string(kTry) + program + " " + shell_words(command);
}

// If the file's extension is that of a script, returns a command that runs it by its interpreter, else an empty text.
std::string interpreted(std::span<const std::string> command) {
  const std::string& file = command.front();
  return file.ends_with(".py") ? through("python3", command) : file.ends_with(".sh") ? through("sh", command) : "";
}

bool has_first_line(const std::string& file) {
  return read_text(file, 2) == "#!";
}

std::string script_interpreter_of(const std::string& file) {
  constexpr size_t kMost = 256;
  const std::string begin = read_text(file, kMost);
  if (!begin.starts_with("#!")) {
    return {};
  }
  const size_t from = begin.find_first_not_of(" \t", 2);
  return from == std::string::npos ? std::string() : begin.substr(from, begin.find_first_of(" \t\r\n", from) - from);
}

std::string hint_for_unknown(std::span<const std::string> command) {
  const std::string& name = command.front();
  if (is_builtin(name)) {
    return "'" + name + "' is a builtin of the shell; " + kTry + "sh -c " + shell_word(shell_words(command));
  }
  if (is_assignment(name)) {
    return through("env", command);
  }
  struct stat info {};
  if (::stat(name.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    const bool runs = ::access(name.c_str(), X_OK) == 0 && has_first_line(name);
    const std::string hint = runs ? "" : interpreted(command);
    return hint.empty() ? kTry + ("./" + shell_words(command)) : hint;
  }
  if (S_ISDIR(info.st_mode)) {
    return "'" + name + "' is a directory; name the program in it";
  }
  return "check the name, or give a path such as ./" + name;
}

std::string hint_for_missing(const std::string& file) {
  if (::access(file.c_str(), F_OK) != 0) {
    return "check the path";
  }
  const std::string interpreter = script_interpreter_of(file);
  return interpreter.empty() ? "the loader that it needs (see `file " + shell_word(file) + "`) is not on this machine"
                             : "its first line names the interpreter " + interpreter + ", which is not on this machine";
}

std::string hint_for_denied(std::span<const std::string> command) {
  const std::string& file = command.front();
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return "it is a directory; name the program in it";
  }
  const std::string hint = interpreted(command);
  const std::string executable = "make it executable: chmod +x " + shell_word(file);
  return hint.empty() ? executable : has_first_line(file) ? hint + ", or " + executable : hint;
}

}  // namespace

Error exec_error(std::span<const std::string> command, int error) {
  const std::string& program = command.front();
  const std::string what = "cannot run '" + program + "': ";
  if (error == ENOENT || error == ENOTDIR) {
    const bool has_path = program.find('/') != std::string::npos;
    const bool there = has_path && ::access(program.c_str(), F_OK) == 0;
    return {what + (there ? "its interpreter or loader was not found" : "not found"),
            has_path ? hint_for_missing(program) : hint_for_unknown(command), kExitNotFound};
  }
  return {what + std::strerror(error),
          error == EACCES ? hint_for_denied(command)
                          : "is it a program for this machine? try `file " + shell_word(program) + "`",
          kExitNotExecutable};
}

}  // namespace gpuprof::record
