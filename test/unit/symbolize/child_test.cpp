#include "child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gpuprof::symbolize::test {

Child::Child(const std::string& kind, const std::string& library) {
  const std::string program = fixture("symbolize_child_" + kind);
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  if (::pipe(input.data()) != 0 || ::pipe(output.data()) != 0) {
    return;
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(input[0], STDIN_FILENO);
    ::dup2(output[1], STDOUT_FILENO);
    for (const int fd : {input[0], input[1], output[0], output[1]}) {
      ::close(fd);
    }
    ::execl(program.c_str(), program.c_str(), library.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(input[0]);
  ::close(output[1]);
  input_ = input[1];
  FILE* lines = ::fdopen(output[0], "r");
  std::array<char, 64> line{};
  while (std::fgets(line.data(), line.size(), lines) != nullptr && line[0] == '0') {
    addresses_.push_back(std::strtoull(line.data(), nullptr, 16));
  }
  std::fclose(lines);
}

Child::~Child() {
  stop();
}

void Child::stop() {
  if (pid_ > 0) {
    ::close(input_);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
}

uint32_t marked_line(const std::string& source, const std::string& word) {
  std::ifstream file(std::string(FIXTURE_SOURCES) + '/' + source);
  std::string line;
  for (uint32_t number = 1; std::getline(file, line); ++number) {
    if (line.ends_with("// MARK " + word)) {
      return number;
    }
  }
  return 0;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "gpuprof-symbolize-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data()) != nullptr ? pattern : std::string{};
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) {
    std::filesystem::remove_all(path_, ignored);
  }
}

std::string fixture(const std::string& name) {
  return std::string(FIXTURE_DIR) + '/' + name;
}

}  // namespace gpuprof::symbolize::test
