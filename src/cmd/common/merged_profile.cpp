#include "cmd/common/merged_profile.h"

#include <utility>

#include "base/files/output_file.h"
#include "base/log.h"
#include "base/return_if_error.h"
#include "profile/writer.h"

namespace gpuprof::cmd {
namespace {

constexpr uint32_t kFlushEvery = 1024;

}  // namespace

void warn_all(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    log::warn(warning);
  }
}

Status or_warn(Status finished, const std::vector<std::string>& warnings) {
  if (!finished) {
    warn_all(warnings);
  }
  return finished;
}

void MergedProfile::report() const {
  report_written(file, report_command(file.place) + " shows it");
  warn_all(warnings);
}

Result<MergedProfile> write_records(
    const std::string& output,
    const std::function<Result<std::vector<std::string>>(const analyze::RecordSink&)>& make) {
  const FileLimitAsError limit;
  auto file = OutputFile::open(output, {.keep_old = true, .mode = 0644, .stop = {}});
  RETURN_IF_ERROR(file);
  profile::Writer writer(file->take_fd());
  writer.header();
  uint32_t waiting = 0;
  auto warnings = make([&](const profile::Record& record) {
    writer.add(record);
    return ++waiting % kFlushEvery == 0 ? writer.flush() : Status();
  });
  RETURN_IF_ERROR(warnings);
  RETURN_IF_ERROR(writer.flush());
  auto named = file->finish();
  RETURN_IF_ERROR(named);
  return MergedProfile{
      .file = {.place = std::move(*named), .bytes = writer.bytes_written(), .regular = file->is_regular()},
      .warnings = std::move(warnings).value()};
}

Result<MergedProfile> write_merged(std::vector<analyze::MergeInput> inputs, const std::string& output,
                                   const std::function<void(const profile::Record&)>& see) {
  return write_records(output, [&](const analyze::RecordSink& sink) -> Result<std::vector<std::string>> {
    auto merged = analyze::merge(std::move(inputs), [&](const profile::Record& record) {
      see(record);
      return sink(record);
    });
    RETURN_IF_ERROR(merged);
    return std::move(merged).value().warnings;
  });
}

}  // namespace gpuprof::cmd
