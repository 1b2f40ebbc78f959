#include <string>

#include "catch.h"
#include "cmd/doctor/stacks.h"

using gpuprof::Error;
using gpuprof::Result;
using gpuprof::cmd::Fact;
using gpuprof::cmd::stack_facts;
using gpuprof::cmd::State;
using gpuprof::record::BpfWalk;

namespace {

const Fact& named(const std::vector<Fact>& facts, std::string_view name) {
  for (const Fact& fact : facts) {
    if (fact.name == name) {
      return fact;
    }
  }
  FAIL("no fact " << name);
  return facts.front();
}

}  // namespace

TEST_CASE("auto uses a stack engine that needs no rights, and the others report what they lack") {
  auto facts = stack_facts([](BpfWalk) -> Result<std::string> { return Error{"not permitted", "run as root"}; });
  CHECK(named(facts, "inproc").state == State::ok);
  CHECK(named(facts, "auto selects").detail.starts_with("inproc"));
  CHECK(named(facts, "auto selects").detail.find("cannot be counted") != std::string::npos);
  for (const char* engine : {"bpf", "fp"}) {
    CHECK(named(facts, engine).state == State::missing);
    CHECK(named(facts, engine).detail == "not permitted");
    CHECK(named(facts, engine).hint == "run as root");
  }
  facts = stack_facts([](BpfWalk walk) -> Result<std::string> {
    if (walk == BpfWalk::tables) {
      return Error{"this kernel has no bpf_loop", ""};
    }
    return std::string();
  });
  CHECK(named(facts, "bpf").state == State::missing);
  CHECK(named(facts, "fp").state == State::ok);
  CHECK(named(facts, "auto selects").detail.ends_with("bpf by frame pointers"));
  facts = stack_facts([](BpfWalk) -> Result<std::string> { return std::string("not what is paged out"); });
  CHECK(named(facts, "bpf").state == State::limited);
  CHECK(named(facts, "bpf").detail.ends_with("; not what is paged out"));
}
