#include "record/write/output_name.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "catch.h"

using gpuprof::record::expand_output_name;

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
