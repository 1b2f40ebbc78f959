#include "record/write/output_name.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "catch.h"

using gpuprof::record::default_output;
using gpuprof::record::expand_output_name;

TEST_CASE("placeholders in output names are expanded") {
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

TEST_CASE("the default name contains the rank if there are several ranks") {
  const char* const all[] = {"OMPI_COMM_WORLD_RANK",
                             "PMIX_RANK",
                             "PMI_RANK",
                             "MV2_COMM_WORLD_RANK",
                             "RANK",
                             "SLURM_PROCID",
                             "PMI_SIZE",
                             "OMPI_COMM_WORLD_SIZE",
                             "WORLD_SIZE",
                             "SLURM_STEP_NUM_TASKS",
                             "MV2_COMM_WORLD_SIZE"};
  for (const char* name : all) {
    ::unsetenv(name);
  }
  CHECK(default_output() == "gpuprof.txt");
  ::setenv("PMI_RANK", "0", 1);
  CHECK(default_output() == "gpuprof.txt");
  ::setenv("PMI_SIZE", "1", 1);
  CHECK(default_output() == "gpuprof.txt");
  ::setenv("PMI_SIZE", "2", 1);
  CHECK(default_output() == "gpuprof.%r.txt");
  ::unsetenv("PMI_SIZE");
  ::setenv("PMI_RANK", "1", 1);  // a rank above 0 implies several ranks
  CHECK(default_output() == "gpuprof.%r.txt");
  ::setenv("PMI_RANK", "../1", 1);
  CHECK(default_output() == "gpuprof.txt");
  ::unsetenv("PMI_RANK");
}
