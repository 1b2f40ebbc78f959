#include "record/stack_choice.h"

#include "catch.h"

using gpuprof::Error;
using gpuprof::record::choose_counting;
using gpuprof::record::choose_stacks;
using gpuprof::record::StackChoice;
using gpuprof::record::StackSetup;

TEST_CASE("with the injection library in the process, it walks stacks and no BPF program is loaded") {
  for (const StackChoice choice : {StackChoice::best, StackChoice::inproc}) {
    const auto setup = choose_stacks(choice);
    REQUIRE(setup);
    CHECK(setup->in_process);
    CHECK(setup->engine == nullptr);
    CHECK(setup->name() == "inproc");
    CHECK(setup->any());
    CHECK_FALSE(setup->reason.empty());
  }
  const auto none = choose_stacks(StackChoice::none);
  REQUIRE(none);
  CHECK_FALSE(none->any());
  CHECK(none->name() == "none");
}

TEST_CASE("requesting in-process stacks is an error for a process without the injection library") {
  const Error why{"it has loaded no CUDA", "attach once it has"};
  const auto inproc = choose_counting(StackChoice::inproc, why);
  REQUIRE_FALSE(inproc);
  CHECK(inproc.error().message.find("--stacks=inproc") != std::string::npos);
  CHECK(inproc.error().message.find(why.message) != std::string::npos);
  CHECK(inproc.error().hint == why.hint);
  CHECK(choose_counting(StackChoice::none, why).error().message == why.message);
  const auto counting = choose_counting(StackChoice::best, why);
  if (counting) {
    CHECK(counting->engine != nullptr);
    CHECK_FALSE(counting->in_process);
  } else {  // this user has no rights to use BPF
    CHECK(counting.error().message.find("cannot be counted") != std::string::npos);
    CHECK_FALSE(counting.error().hint.empty());
  }
}

TEST_CASE("requested BPF stacks are walked by unwind tables, or are an error with a hint") {
  const auto asked = choose_stacks(StackChoice::bpf);
  const auto counting = choose_counting(StackChoice::bpf, {"it has loaded no CUDA", ""});
  CHECK(static_cast<bool>(asked) == static_cast<bool>(counting));
  for (const auto* setup : {&asked, &counting}) {
    if (*setup) {
      CHECK((*setup)->by_tables());
      CHECK((*setup)->name() == "bpf");
    } else {
      CHECK(setup->error().message.find("--stacks=bpf is impossible here") != std::string::npos);
      CHECK_FALSE(setup->error().hint.empty());
    }
  }
}
