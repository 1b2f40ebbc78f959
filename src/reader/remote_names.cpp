#include "reader/remote_names.h"

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/text/utf8.h"
#include "reader/fields.h"
#include "reader/requests.h"
#include "symbolize/debug_opener.h"

namespace gpuprof::reader {
namespace {

// Reading the DWARF of the largest libraries takes seconds, and more on a busy machine.
constexpr uint64_t kFileNs = 60'000'000'000;

bool is_elf(int fd) {
  std::array<char, SELFMAG> magic{};
  return ::pread(fd, magic.data(), magic.size(), 0) == SELFMAG && std::memcmp(magic.data(), ELFMAG, SELFMAG) == 0;
}

bool is_build_id(std::string_view text) {
  return text.size() >= 2 && text.size() <= 126 && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Returns whether the path may be that of a debug file in gpuprof's own root directory.
bool is_for_debug_files(std::string_view path, std::string_view of_file) {
  const std::string_view folder = of_file.substr(0, of_file.rfind('/') + 1);
  return !path.starts_with("/proc/") && !path.starts_with("/sys/") &&
         (path.starts_with("/usr/lib/debug/") || (folder.size() > 1 && path.starts_with(folder)));
}

// Answers a reader's question about a file with an open file. A process that was taken over gets only ELF files, and
// the reader of our files gets only our files.
ReceivedMessage open_for_reader(Message& question, const symbolize::MappedFile& of, bool ours,
                                symbolize::DebugFileOpener& files) {
  const auto what = static_cast<Reply>(question.number());
  // The names of debug files contain "..".
  const std::string name = std::filesystem::path(question.text()).lexically_normal();
  const bool in_target_root = question.number() != 0;
  symbolize::DebugFile file;
  if (what == Reply::open && question.ok() && name.starts_with('/') &&
      (in_target_root || is_for_debug_files(name, of.path))) {
    file = files.open(name, in_target_root);
  } else if (what == Reply::download && is_build_id(name)) {
    file = files.download(name);
  }
  if (file.fd && (!is_elf(file.fd.get()) || (ours && !file.ours))) {
    file.fd.reset();
  }
  return {Message().number(file.ours ? 1 : 0), std::move(file.fd)};
}

}  // namespace

RemoteNames::RemoteNames(const Process::Options& options, symbolize::ReadingBudget& budget)
    : readers_{{Reader(options, budget), Reader(options, budget)}}, budget_(budget) {}

RemoteNames::Reader::Reader(Process::Options options, const symbolize::ReadingBudget& budget)
    : process((
          options.goes_on = [&budget] { return budget.in_time(); }, std::move(options))) {}

RemoteNames::KnownFile& RemoteNames::known(const symbolize::MappedFile& file) {
  const auto [entry, is_new] = files_.try_emplace(&file);
  if (is_new) {
    entry->second = {.id = files_.size(), .ours = counts_as_ours(file.fd.get())};
  }
  return entry->second;
}

void RemoteNames::note_failure(const symbolize::MappedFile& file, KnownFile& known, Process::Outcome outcome) {
  if (!budget_.in_time()) {
    return;
  }
  if (!std::exchange(known.is_counted, true)) {
    budget_.leave_out_file();
  }
  if (outcome == Process::Outcome::not_started) {
    return;  // the file is not to blame
  }
  known.unusable = true;
  const std::string what = outcome == Process::Outcome::gave_up ? "took too long" : "ended";
  const std::string text =
      "the process that reads " + escaped(file.path) + " " + what + ": its functions have no names";
  if (std::exchange(warned_, true)) {
    log::debug(text);
  } else {
    log::warn(text);
  }
}

symbolize::FileNames::Found RemoteNames::find(const std::shared_ptr<symbolize::MappedFile>& file,
                                              const symbolize::ProcessMaps& maps, uint64_t offset,
                                              uint64_t mapping_offset) {
  if (!file->fd) {
    return {};
  }
  KnownFile& known_file = known(*file);
  Reader& reader = readers_[known_file.ours ? 0 : 1];
  if (known_file.unusable) {
    return {.is_elf = true, .frames = {}};
  }
  if (reader.process.run() && reader.generation != reader.process.generation()) {
    reader.generation = reader.process.generation();
    reader.left_out = {};
  }
  const bool is_new = known_file.generation != reader.generation;
  known_file.generation = reader.generation;
  symbolize::DebugOpener files(maps.file_access(), true, budget_);
  Process::Request request{
      .message = {},
      .fd = is_new ? file->fd.get() : -1,
      .time_ns = kFileNs,
      .generation = reader.generation,
      .on_question = [&](Message& question) { return open_for_reader(question, *file, known_file.ours, files); }};
  request.message.number(static_cast<uint64_t>(Ask::names)).number(budget_.room()).number(known_file.id);
  request.message.number(is_new ? 1 : 0).text(file->path).number(known_file.ours ? 1 : 0);
  request.message.number(offset).number(mapping_offset);
  Process::Answer answer = reader.process.ask(request);
  if (answer.outcome != Process::Outcome::answered) {
    note_failure(*file, known_file, answer.outcome);
    return {.is_elf = true, .frames = {}};
  }
  Found found{.is_elf = answer.message.number() != 0, .frames = take_frames(answer.message)};
  for (symbolize::SymbolizedFrame& frame : found.frames) {
    frame.module = file->path;  // whatever the process says
  }
  const symbolize::ReadingBudget::LeftOut left_out = take_left_out(answer.message);
  budget_.leave_out_more(reader.left_out, left_out);
  reader.left_out = left_out;
  return found;
}

}  // namespace gpuprof::reader
