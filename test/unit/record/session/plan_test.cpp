#include "record/session/plan.h"

#include "catch.h"

using gpuprof::record::ChannelOptions;
using gpuprof::record::JoinOptions;
using gpuprof::record::plan_channel;
using gpuprof::record::plan_join;
using gpuprof::record::SessionOptions;
using gpuprof::record::StackSetup;

TEST_CASE("by default targets record launches, without stacks or code") {
  const ChannelOptions channel = plan_channel({}, {}, {});
  CHECK(channel.launch_records);
  CHECK(channel.enabled);
  CHECK_FALSE(channel.stacks);
  CHECK_FALSE(channel.hold);
  CHECK_FALSE(channel.attached);
  CHECK(channel.code.session_bytes == 0);
  const JoinOptions join = plan_join({}, {}, {});
  CHECK_FALSE(join.stacks_wanted);
  CHECK(join.attach_pid == 0);
}

TEST_CASE("sampling options reach targets and the join, with a request for GPU code") {
  SessionOptions options;
  options.sampling.samples = true;
  options.sampling.period = 4096;
  options.sampling.chosen = [](std::string_view name) { return name == "chosen"; };
  const ChannelOptions channel = plan_channel(options, {}, {});
  CHECK(channel.sampling.period == 4096);
  CHECK(channel.code.session_bytes > 0);
  CHECK(plan_join(options, {}, {}).sampling.samples);
  CHECK(plan_join(options, {}, {}).sampling.chosen("chosen"));

  options.sampling = {.counted = "inst_executed"};
  CHECK(plan_channel(options, {}, {}).code.session_bytes > 0);
}

TEST_CASE("a recording with a delay or a pause begins switched off") {
  SessionOptions options;
  options.recording.delay_ns = 1;
  CHECK_FALSE(plan_channel(options, {}, {}).enabled);
  options.recording = {.paused = true};
  CHECK_FALSE(plan_channel(options, {}, {}).enabled);
}

TEST_CASE("targets are asked to walk their own stacks if the setup requires it") {
  StackSetup stacks;
  stacks.in_process = true;
  SessionOptions options;
  options.attach_pid = 7;
  CHECK(plan_channel(options, stacks, {}).stacks);
  CHECK(plan_channel(options, stacks, {}).attached);
  CHECK(plan_join(options, stacks, {}).stacks_from_sources);
  CHECK(plan_join(options, stacks, {}).attach_pid == 7);
}
