#include "cmd/common/subset_inputs.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/return_if_error.h"
#include "cmd/common/input.h"
#include "cmd/common/options.h"
#include "cmd/common/sources.h"

namespace gpuprof::cmd {

void SubsetInputs::declare(CLI::App& app) {
  app.add_option("FILES", words, kSourcesHelp)->expected(-1);
  add_lenient_flag(app, lenient);
}

Result<std::vector<analyze::MergeInput>> SubsetInputs::open() {
  if (!words.empty()) {
    return open_sources(words, lenient, files);
  }
  Input input;
  input.lenient = lenient;
  auto reader = input.open();
  RETURN_IF_ERROR(reader);
  files = input.files;
  std::vector<analyze::MergeInput> inputs;
  inputs.push_back({.name = input_name(input.opened), .reader = std::move(reader).value(), .reopen = {}});
  return inputs;
}

}  // namespace gpuprof::cmd
