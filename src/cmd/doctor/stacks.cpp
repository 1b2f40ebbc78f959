#include "cmd/doctor/stacks.h"

#include <utility>

#include "base/return_if_error.h"

namespace gpuprof::cmd {
namespace {

Fact engine_fact(const char* name, const Result<std::string>& tried, const char* can) {
  if (!tried) {
    return {name, State::missing, tried.error().message, tried.error().hint};
  }
  if (tried->empty()) {
    return {name, State::ok, can, ""};
  }
  return {name, State::limited, std::string(can) + "; " + *tried, ""};
}

}  // namespace

Result<std::string> try_bpf(record::BpfWalk walk) {
  auto engine = record::make_bpf_engine(walk);
  RETURN_IF_ERROR(engine);
  std::string note((*engine)->note());
  if (walk == record::BpfWalk::tables && (*engine)->name() != "bpf") {
    return Error{std::move(note), ""};  // make_bpf_engine() used frame pointers instead, so tables do not work
  }
  return note;
}

std::vector<Fact> stack_facts(const TryBpf& try_bpf) {
  const Result<std::string> tables = try_bpf(record::BpfWalk::tables);
  const Result<std::string> pointers = try_bpf(record::BpfWalk::frame_pointers);
  const char* counting = tables ? "bpf" : pointers ? "bpf by frame pointers" : "nothing: launches cannot be counted";
  std::vector<Fact> facts;
  facts.push_back({"auto selects", State::info,
                   std::string("inproc, which costs least and needs no privileges; if launches are only counted "
                               "(record -p without the injection library): ") +
                       counting,
                   ""});
  facts.push_back({"inproc", State::ok, "the injection library walks native and Python frames in the target", ""});
  facts.push_back(engine_fact("bpf", tables, "a BPF program walks native and Python frames"));
  facts.push_back(engine_fact("fp", pointers, "a BPF program walks frames of code compiled with frame pointers"));
  return facts;
}

}  // namespace gpuprof::cmd
