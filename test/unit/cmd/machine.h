#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.h"
#include "cmd/doctor/facts.h"

namespace gpuprof::cmd {

// Fakes the files that `doctor` reads, in a temporary root folder.
class Machine {
 public:
  Machine() {
    std::string pattern = std::filesystem::temp_directory_path() / "doctor.XXXXXX";
    root_ = ::mkdtemp(pattern.data()) != nullptr ? pattern : "";
    REQUIRE_FALSE(root_.empty());
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  void file(const std::string& path, const std::string& text) const {
    folder_of(path);
    std::ofstream(root_ + path) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    folder_of(path);
    std::filesystem::create_symlink(target, root_ + path);
  }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  void folder_of(const std::string& path) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
  }
  std::string root_;
};

inline Fact find(const std::vector<Fact>& facts, const std::string& name) {
  const auto fact = std::find_if(facts.begin(), facts.end(), [&](const Fact& f) { return f.name == name; });
  REQUIRE(fact != facts.end());
  return *fact;
}

// Returns the rights of a user with these capabilities (hexadecimal).
inline Rights with(const char* capabilities) {
  return parse_rights("Name:\tx\nUid:\t1000\t1000\nCapEff:\t" + std::string(capabilities) + "\n",
                      "         0          0 4294967295\n");
}

}  // namespace gpuprof::cmd
