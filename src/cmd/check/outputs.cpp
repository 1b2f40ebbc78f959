#include "cmd/check/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>

#include "base/files/output_file.h"
#include "base/files/special_output.h"
#include "base/return_if_error.h"
#include "cmd/common/options.h"
#include "cmd/common/terminal.h"
#include "output/compare/budget.h"
#include "output/compare/check.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kStdout = "-";

using Write = std::function<void(TextStream&)>;

Status write_to(const std::string& file, const Write& write) {
  return file.empty() ? Status() : write_file(file, "", write);
}

// Tests that the file can be written, by opening and closing it. Does not open pipes and devices, because closing a
// pipe would end the input of its reader.
Status can_be_made(const std::string& file) {
  struct stat info {};
  if (file == kStdout || (::stat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
    return {};
  }
  const auto made = OutputFile::open(file, {.keep_old = true, .mode = 0666, .stop = {}});
  return made ? Status() : Status(Error{made.error().message, made.error().hint, kExitUsage});
}

bool lies_in(const std::string& file, const std::string& folder) {
  namespace fs = std::filesystem;
  return !folder.empty() &&
         (fs::path(file).parent_path() / "").lexically_normal() == (fs::path(folder) / "").lexically_normal();
}

}  // namespace

void CheckOutputs::declare(CLI::App& app) {
  add_file_option(app, "--json", json_, "also write JSON; \"-\": print it instead of the text");
  add_file_option(app, "--markdown", markdown_, "also write Markdown; \"-\": print it instead of the text");
  add_file_option(app, "--junit", junit_, "also write JUnit XML; \"-\": print it instead of the text");
  app.add_flag("--annotations", annotations_, "also print annotations for GitHub Actions");
  add_width_option(app, width_, 40);
}

size_t CheckOutputs::in_place_of_text() const {
  const std::array<const std::string*, 3> files = {&json_, &markdown_, &junit_};
  return static_cast<size_t>(std::count_if(files.begin(), files.end(), [](const std::string* file) {
    return *file == kStdout || descriptor_named(*file) == STDOUT_FILENO;
  }));
}

Status CheckOutputs::usable(bool budget, const std::string& folder) const {
  if (budget && (!markdown_.empty() || !junit_.empty() || annotations_)) {
    return Error{"check: only text and --json can show the result of a budget", "leave the other outputs out",
                 kExitUsage};
  }
  if (in_place_of_text() + (annotations_ ? 1 : 0) > 1) {
    return Error{"check: two outputs would be mixed on standard output" +
                     std::string(annotations_ ? ": --annotations go there, too" : ""),
                 "give each a file of its own", kExitUsage};
  }
  const std::array<const std::string*, 3> files = {&json_, &markdown_, &junit_};
  for (const std::string* file : files) {
    const auto same =
        std::count_if(files.begin(), files.end(), [&](const auto* other) { return are_same_output(*other, *file); });
    if (!file->empty() && same > 1) {
      return Error{"check: two outputs have the same name, " + *file, "give each a file of its own", kExitUsage};
    }
  }
  RETURN_IF_ERROR(may_write({}));
  for (const std::string* file : files) {
    RETURN_IF_ERROR(file->empty() || lies_in(*file, folder) ? Status() : can_be_made(*file));
  }
  return {};
}

Status CheckOutputs::may_write(std::span<const FileId> read) const {
  for (const std::string& file : {json_, markdown_, junit_, std::string(kStdout)}) {
    RETURN_IF_ERROR(file.empty() ? Status() : cmd::may_write(file, read));
  }
  return {};
}

Status CheckOutputs::write(const compare::Comparison& runs, const compare::Judgement& judgement) const {
  const size_t width = width_ != 0 ? width_ : terminal_width();
  const auto text = [&](TextStream& out) { output::check_text(runs, judgement, width, out); };
  const auto json = [&](TextStream& out) { output::check_json(runs, judgement, out); };
  const auto markdown = [&](TextStream& out) { output::check_markdown(runs, judgement, out); };
  const auto junit = [&](TextStream& out) { output::check_junit(runs, judgement, out); };
  const auto annotations = [&](TextStream& out) { output::check_annotations(runs, judgement, out); };
  const std::array<std::pair<std::string, Write>, 5> outputs = {{{in_place_of_text() == 0 ? kStdout : "", text},
                                                                 {json_, json},
                                                                 {markdown_, markdown},
                                                                 {junit_, junit},
                                                                 {annotations_ ? kStdout : "", annotations}}};
  for (const auto& [file, put] : outputs) {
    RETURN_IF_ERROR(write_to(file, put));
  }
  return {};
}

Status CheckOutputs::write(const compare::Budget& budget, const compare::BudgetResult& result) const {
  RETURN_IF_ERROR(write_to(in_place_of_text() == 0 ? kStdout : "",
                           [&](TextStream& out) { output::budget_text(budget, result, out); }));
  return write_to(json_, [&](TextStream& out) { output::budget_json(budget, result, out); });
}

Status CheckOutputs::write_error(const Error& error) const {
  return write_to(junit_, [&](TextStream& out) { output::check_junit_error(error, out); });
}

}  // namespace gpuprof::cmd
