#include "reader/remote_tables.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/text/utf8.h"

namespace gpuprof::reader {
namespace {

constexpr uint64_t kTableNs = 60'000'000'000;  // the largest libraries take a second, and more on a busy machine
constexpr size_t kMaxSegments = 4096;
constexpr size_t kMaxTable = size_t{32} << 20;  // bytes; the largest libraries have 10 MiB

std::vector<Elf64_Phdr> take_segments(std::string_view bytes) {
  std::vector<Elf64_Phdr> segments(std::min(bytes.size() / sizeof(Elf64_Phdr), kMaxSegments));
  std::memcpy(segments.data(), bytes.data(), segments.size() * sizeof(Elf64_Phdr));
  return segments;
}

}  // namespace

RemoteTables::RemoteTables(const Process::Options& options, unsigned parallel) {
  for (auto& idle : idle_) {
    for (unsigned i = 0; i < std::max(parallel, 1U); ++i) {
      idle.push_back(std::make_unique<Process>(options));
    }
  }
}

std::optional<Message> RemoteTables::ask(const symbolize::MappedFile& file, Ask what) {
  std::unique_lock lock(mutex_);
  auto& idle = idle_[counts_as_ours(file.fd.get()) ? 1 : 0];
  changed_.wait(lock, [&idle] { return !idle.empty(); });
  std::unique_ptr<Process> process = std::move(idle.back());
  idle.pop_back();
  lock.unlock();
  Process::Request request{.message = {}, .fd = file.fd.get(), .time_ns = kTableNs, .most = kMaxTable};
  request.message.number(static_cast<uint64_t>(what));
  Process::Answer answer = process->ask(request);
  lock.lock();
  idle.push_back(std::move(process));
  changed_.notify_all();
  if (answer.outcome != Process::Outcome::answered) {
    log::debug("the process that reads " + escaped(file.path) + " has failed: it has no unwind table");
    return std::nullopt;
  }
  return std::move(answer.message);
}

std::optional<unwind::TableInput> RemoteTables::read(const symbolize::MappedFile& file) {
  std::optional<Message> answer = ask(file, Ask::table_source);
  if (!answer || answer->number() == 0) {
    return std::nullopt;
  }
  unwind::TableInput input;
  const std::string_view source = answer->text();
  input.segments = take_segments(answer->text());
  if (source.size() != input.source.size() || !answer->ok()) {
    return std::nullopt;
  }
  std::memcpy(input.source.data(), source.data(), source.size());
  return input;
}

std::vector<uint8_t> RemoteTables::make(const symbolize::MappedFile& file) {
  std::optional<Message> answer = ask(file, Ask::table);
  const std::string_view bytes = answer ? answer->text() : std::string_view();
  return {bytes.begin(), bytes.end()};
}

}  // namespace gpuprof::reader
