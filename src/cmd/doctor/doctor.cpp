// `gpuprof doctor`: shows what gpuprof can record on this machine, and how to enable the rest.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/files/file.h"
#include "base/process/process_status.h"
#include "base/process/seccomp_filter.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/doctor/facts.h"
#include "cmd/doctor/processor.h"
#include "cmd/doctor/stacks.h"
#include "output/json_stream.h"
#include "record/target/environment.h"
#include "symbolize/gpu/xe_disassembler.h"

namespace gpuprof::cmd {

namespace {

constexpr int kSchemaVersion = 2;

struct Section {
  const char* name;
  std::vector<Fact> facts;
};

std::vector<Fact> backend_facts() {
  std::vector<Fact> facts;
  for (const auto& backend : backend::make_all()) {
    const backend::Availability found = backend->probe();
    std::string detail = backend->descriptor().summary;
    if (!found.detail.empty()) {
      detail += ": " + found.detail;
    }
    facts.push_back(
        {backend->descriptor().name, found.available ? State::ok : State::missing, std::move(detail), found.hint});
  }
  return facts;
}

// Lists known faults of the vendors' libraries.
std::vector<Fact> fault_facts() {
  std::vector<Fact> facts;
  for (const auto& backend : backend::make_all()) {
    const uint32_t version = backend->library_version();
    std::string listed;
    for (const std::string& fault : backend->faults_of(version)) {
      listed += (listed.empty() ? ": " : "; ") + fault;
    }
    const std::string name = "version " + std::to_string(version);
    if (version != 0 && listed.empty()) {
      facts.push_back({backend->descriptor().name, State::ok, name + " has no fault that gpuprof knows", ""});
    } else if (version != 0) {
      facts.push_back({backend->descriptor().name, State::limited, name + listed,
                       "use a newer version: docs/cli.md, \"Known faults of CUPTI\""});
    }
  }
  if (facts.empty()) {
    facts.push_back({"libraries", State::info, "no installed library has known faults that depend on its version", ""});
  }
  return facts;
}

// Warns of GPUPROF_ variables that have no effect, because a user who set one expects an effect.
std::vector<Fact> environment_facts() {
  std::vector<Fact> facts;
  const std::vector<std::string> environment = record::own_environment();
  for (const Error& remark : record::check_environment(environment, backend::make_all())) {
    facts.push_back({"variable", State::limited, remark.message, remark.hint});
  }
  for (const std::string& name : record::unknown_variables(environment)) {
    facts.push_back({"variable", State::info, escaped(name) + " is not a gpuprof variable and is ignored", ""});
  }
  if (facts.empty()) {
    facts.push_back({"variables", State::ok, "no GPUPROF_ variable is misspelt or has an invalid value", ""});
  }
  return facts;
}

Fact debuginfod_fact() {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  if (urls != nullptr && *urls != '\0') {
    return {"debuginfod", State::info, "DEBUGINFOD_URLS is set: missing debug files are downloaded from there", ""};
  }
  return {"debuginfod", State::info, "DEBUGINFOD_URLS is not set: only local debug files are used", ""};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Fact assembler_fact() {
  const std::string library = symbolize::find_xe_assembler();
  if (library.empty()) {
    return {"instructions as text", State::info,
            "no libiga64 of Intel's graphics compiler (package libigc1 or libigc2): samples show offsets instead of "
            "instructions",
            ""};
  }
  return {"instructions as text", State::ok, "available for Intel's kernels, with " + library, ""};
}

std::vector<Section> gather() {
  constexpr size_t kMaxMap = 16384;
  Rights rights =
      parse_rights(read_status_of(static_cast<uint32_t>(::getpid())), read_text("/proc/self/uid_map", kMaxMap));
  rights.ptrace_filtered = filter_forbids_ptrace();
  const KernelRelease release = parse_release(first_line("/proc/sys/kernel/osrelease"));
  std::vector<Section> sections;
  sections.push_back({"backends", backend_facts()});
  sections.push_back({"faults", fault_facts()});
  sections.push_back({"stacks", stack_facts(try_bpf)});
  sections.push_back({"rights", rights_facts("", rights, can_create_bpf_map())});
  std::vector<Fact> machine = kernel_facts("", release);
  for (Fact& fact : processor_facts()) {
    machine.push_back(std::move(fact));
  }
  sections.push_back({"kernel", std::move(machine)});
  sections.push_back({"attaching", attach_facts("", rights)});
  sections.push_back({"nvidia", nvidia_facts("", rights, variable)});
  sections.push_back({"intel", {assembler_fact()}});
  sections.push_back({"devices", device_facts("")});
  sections.push_back({"symbols", {kernel_symbols_fact(""), debuginfod_fact()}});
  sections.push_back({"environment", environment_facts()});
  return sections;
}

std::string as_text(const std::vector<Section>& sections) {
  std::string out;
  for (const Section& section : sections) {
    out += std::string(section.name) + "\n";
    for (const Fact& fact : section.facts) {
      // The line is "  state    name                       detail". The hint is in the next line, below the detail.
      constexpr std::size_t kStateWidth = 9;
      constexpr std::size_t kNameWidth = 27;
      std::string line = state_name(fact.state);
      line.resize(std::max(line.size() + 1, kStateWidth), ' ');
      line += fact.name;
      line.resize(std::max(line.size() + 1, kStateWidth + kNameWidth), ' ');
      out += "  " + line + escaped(fact.detail) + "\n";  // the name of a program can hold any bytes
      if (!fact.hint.empty()) {
        out += std::string(2 + kStateWidth + kNameWidth, ' ') + "-> " + escaped(fact.hint) + "\n";
      }
    }
  }
  return out;
}

std::string as_json(const std::vector<Section>& sections) {
  nlohmann::ordered_json all{{"schema_version", kSchemaVersion}};
  for (const Section& section : sections) {
    nlohmann::ordered_json& facts = all[section.name] = nlohmann::ordered_json::array();
    for (const Fact& fact : section.facts) {
      facts.push_back({{"name", fact.name},
                       {"state", state_name(fact.state)},
                       {"detail", escaped(fact.detail)},
                       {"hint", escaped(fact.hint)}});
    }
  }
  return output::json_text(all, 2) + "\n";
}

class Doctor : public Command {
 public:
  void declare(CLI::App& app) override { app.add_flag("--json", json_, "print JSON"); }

  Result<int> run() override {
    const std::vector<Section> sections = gather();
    const std::string text = json_ ? as_json(sections) : as_text(sections);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      return Error{.message = "cannot write to stdout", .hint = "is the disk full, or the pipe closed?"};
    }
    return 0;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor() {
  return std::make_unique<Doctor>();
}

}  // namespace gpuprof::cmd
