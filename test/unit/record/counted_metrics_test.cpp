#include "record/counted_metrics.h"

#include "catch.h"

using gpuprof::record::counted_metrics;

TEST_CASE("metric groups and names become a list with each metric once") {
  const auto list = counted_metrics({"memory", "smsp__sass_sectors_mem_global", "smsp__sass_x1"});
  REQUIRE(list.ok());
  CHECK(*list == "smsp__sass_sectors_mem_global,smsp__sass_sectors_mem_global_ideal,smsp__sass_x1");
  for (const char* word : {"shared", "branches", "instructions"}) {
    CHECK(counted_metrics({word}).ok());
  }
}

TEST_CASE("invalid metric names are rejected with a hint") {
  for (const char* word : {"", "cycles", "smsp__sass", "smsp__sass_X", "smsp__sass_a,b", "smsp__sass_a b"}) {
    INFO(word);
    const auto list = counted_metrics({word});
    REQUIRE_FALSE(list.ok());
    CHECK_FALSE(list.error().hint.empty());
  }
  CHECK_FALSE(counted_metrics({"smsp__sass_" + std::string(2000, 'a')}).ok());
}
