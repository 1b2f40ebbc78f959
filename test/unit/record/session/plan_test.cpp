#include "record/session/plan.h"

#include "catch.h"

using gpuprof::record::ChannelOptions;
using gpuprof::record::JoinOptions;
using gpuprof::record::plan_channel;
using gpuprof::record::plan_join;
using gpuprof::record::SessionOptions;
using gpuprof::record::StackSetup;

TEST_CASE("a recording without options has targets launch and record, without stacks or code") {
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

TEST_CASE("what is wanted of kernels reaches targets and the join, with their code") {
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

TEST_CASE("a recording that begins later begins switched off") {
  SessionOptions options;
  options.recording.delay_ns = 1;
  CHECK_FALSE(plan_channel(options, {}, {}).enabled);
  options.recording = {.paused = true};
  CHECK_FALSE(plan_channel(options, {}, {}).enabled);
}

TEST_CASE("stacks that processes walk themselves are asked of them") {
  StackSetup stacks;
  stacks.in_process = true;
  SessionOptions options;
  options.attach_pid = 7;
  CHECK(plan_channel(options, stacks, {}).stacks);
  CHECK(plan_channel(options, stacks, {}).attached);
  CHECK(plan_join(options, stacks, {}).stacks_from_sources);
  CHECK(plan_join(options, stacks, {}).attach_pid == 7);
}
