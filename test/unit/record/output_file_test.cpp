#include "record/output_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.h"

using gpuprof::record::expand_output_name;
using gpuprof::record::OutputFile;

TEST_CASE("names of outputs") {
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("PMIX_RANK");
  ::unsetenv("PMI_RANK");
  ::setenv("SLURM_PROCID", "7", 1);
  CHECK(*expand_output_name("p.txt") == "p.txt");
  CHECK(*expand_output_name("a-%r.txt") == "a-7.txt");
  CHECK(*expand_output_name("%p%%") == std::to_string(::getpid()) + "%");
  CHECK(expand_output_name("x%h")->size() > 1);
  CHECK(expand_output_name("x%q").error().exit_code == 2);
  CHECK_FALSE(expand_output_name("x%").ok());
  ::unsetenv("SLURM_PROCID");
}

TEST_CASE("an existing profile is kept") {
  const auto dir = std::filesystem::temp_directory_path() / ("gpuprof-out-" + std::to_string(::getpid()));
  std::filesystem::remove_all(dir);  // of a process that had this number before
  std::filesystem::create_directory(dir);
  const std::string path = dir / "gpuprof.txt";
  std::ofstream(path) << "first";
  const auto content = [](const std::string& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  {
    auto output = OutputFile::open(path);
    REQUIRE(output.ok());
  }
  CHECK(content(path) == "first");  // never committed
  {
    auto output = OutputFile::open(path);
    REQUIRE(output.ok());
    CHECK(output->commit().ok());
    const gpuprof::UniqueFd fd = output->take_fd();
    CHECK(::write(fd.get(), "second", 6) == 6);
  }
  CHECK(content(path) == "second");
  CHECK(content(path + ".old") == "first");
  CHECK(std::distance(std::filesystem::directory_iterator(dir), std::filesystem::directory_iterator()) == 2);
  CHECK_FALSE(OutputFile::open((dir / "no" / "such" / "dir.txt").string()).ok());
  std::filesystem::remove_all(dir);
}

TEST_CASE("an output that cannot get its name is kept under another, and that is said") {
  const auto dir = std::filesystem::temp_directory_path() / ("gpuprof-out-" + std::to_string(::getpid()));
  std::filesystem::remove_all(dir);
  std::filesystem::create_directory(dir);
  const std::string path = dir / "gpuprof.txt";
  std::string hint;
  {
    auto file = OutputFile::open(path);
    REQUIRE(file.ok());
    std::ofstream(path) << "older";  // made while the target ran, as the next one
    std::filesystem::create_directories(path + ".old/in the way");
    const auto named = file->commit_or_keep();
    REQUIRE_FALSE(named.ok());
    hint = named.error().hint;
  }
  const std::string start = "it is kept as ";
  REQUIRE(hint.starts_with(start));
  CHECK(std::filesystem::is_regular_file(hint.substr(start.size())));
  std::filesystem::remove_all(dir);
}
