#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gpuprof::symbolize::test {

class Child {
 public:
  // Starts symbolize_child_KIND ("pie" or "nopie") with a library, and waits until it has printed its addresses.
  Child(const std::string& kind, const std::string& library);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void stop();  // ends the process and waits for its end

  [[nodiscard]] uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  [[nodiscard]] uint64_t own() const { return address(0); }  // an address in child_own_function
  // Returns an address in innermost<3>, which is inlined into middle and Runner::outer.
  [[nodiscard]] uint64_t outer() const { return address(1); }
  [[nodiscard]] uint64_t local() const { return address(2); }

 private:
  [[nodiscard]] uint64_t address(size_t index) const { return index < addresses_.size() ? addresses_[index] : 0; }

  pid_t pid_ = -1;
  int input_ = -1;
  std::vector<uint64_t> addresses_;
};

// Returns the line number of the comment "// MARK word" in a fixture source.
uint32_t marked_line(const std::string& source, const std::string& word);

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string fixture(const std::string& name);

}  // namespace gpuprof::symbolize::test
