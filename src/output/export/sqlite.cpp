#include "output/export/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/names/labels.h"
#include "analyze/paths/call_path.h"
#include "base/hash.h"
#include "base/text/utf8.h"
#include "output/export/work_facts.h"
#include "output/text.h"
#include "output/trust.h"

extern "C" {
extern const char gpuprof_sqlite_schema_begin[];  // the text ends with a NUL
}

namespace gpuprof::output {
namespace {

namespace p = gpuprof::profile;
using analyze::Walk;
using analyze::WalkFrame;
using analyze::WalkRow;

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;

// Keeps only the first error of a database, because later errors are often its consequences.
class Failure {
 public:
  void note(sqlite3* database) {
    if (!found_) {
      found_ = Error{std::string("cannot make the database: ") + sqlite3_errmsg(database), hint(database)};
    }
  }
  explicit operator bool() const { return found_.has_value(); }
  [[nodiscard]] Error error() const { return found_.value_or(Error{"cannot make the database", ""}); }

 private:
  static const char* hint(sqlite3* database) {
    const int code = sqlite3_errcode(database);
    return code == SQLITE_FULL || code == SQLITE_NOMEM
               ? "it would be larger than 512 MiB: --format csv has no such limit"
               : "try --format csv";
  }
  std::optional<Error> found_;
};

// Runs one INSERT statement repeatedly. After a failure, all inserts do nothing.
class Insert {
 public:
  Insert(sqlite3* database, Failure& failure, const std::string& table, int columns)
      : database_(database), failure_(failure) {
    std::string sql = "INSERT INTO " + table + " VALUES (?";
    for (int i = 1; i < columns; ++i) {
      sql += ",?";
    }
    sql += ")";
    sqlite3_stmt* made = nullptr;
    check(sqlite3_prepare_v2(database, sql.c_str(), -1, &made, nullptr) == SQLITE_OK);
    statement_.reset(made);
  }

  // number() and the functions below bind the columns, in their order. After the last column, call run().
  Insert& number(uint64_t value) {
    // SQLite's integers are signed. Larger numbers, which only addresses can be, are stored as text.
    if (value > INT64_MAX) {
      return bound_text(std::to_string(value));
    }
    ++column_;
    return failure_
               ? *this
               : check(sqlite3_bind_int64(statement_.get(), column_, static_cast<sqlite3_int64>(value)) == SQLITE_OK);
  }
  Insert& known_number(uint64_t value) { return value == 0 ? null() : number(value); }
  Insert& text(std::string_view value) { return bound_text(escaped(shown_text(value))); }
  Insert& known_text(std::string_view value) { return value.empty() ? null() : text(value); }
  Insert& null() {
    ++column_;
    return failure_ ? *this : check(sqlite3_bind_null(statement_.get(), column_) == SQLITE_OK);
  }

  bool run() {
    column_ = 0;
    if (!failure_) {
      check(sqlite3_step(statement_.get()) == SQLITE_DONE);
      sqlite3_reset(statement_.get());
    }
    return !failure_;
  }

 private:
  Insert& bound_text(const std::string& value) {
    ++column_;
    return failure_ ? *this
                    : check(sqlite3_bind_text(statement_.get(), column_, value.data(), static_cast<int>(value.size()),
                                              SQLITE_TRANSIENT) == SQLITE_OK);
  }
  Insert& check(bool good) {
    if (!good) {
      failure_.note(database_);
    }
    return *this;
  }

  sqlite3* database_;
  Failure& failure_;
  std::unique_ptr<sqlite3_stmt, Close> statement_;
  int column_ = 0;
};

class Writer {
 public:
  Writer(Walk& walk, sqlite3* database)
      : walk_(walk),
        database_(database),
        facts_(walk),
        frames_(database, failure_, "frames", 9),
        stacks_(database, failure_, "stacks", 3),
        works_(database, failure_, "work", 12),
        measured_(database, failure_, "measured", 8),
        host_(database, failure_, "host", 9),
        durations_(database, failure_, "durations", 4),
        samples_(database, failure_, "samples", 7) {}

  Status write() {
    if (!put_profile()) {
      return failure_.error();
    }
    Status walked = walk_.run([this](const WalkRow& row) { return put_row(row) ? Status() : failure_.error(); });
    if (walked && (!put_host() || !put_durations() || !put_frames())) {
      return failure_.error();
    }
    return walked;
  }

 private:
  bool put_profile() {
    Insert meta(database_, failure_, "meta", 2);
    for (const auto& [key, value] : walk_.rows().info.meta) {
      if (!meta.text(key).text(value).run()) {
        return false;
      }
    }
    for (const std::string& line : notice_lines(walk_.rows().info)) {
      if (!meta.text("missing").text(line).run()) {
        return false;
      }
    }
    if (const auto window = walk_.rows().selected_window()) {
      const bool said = meta.text("window.from_ns").text(std::to_string(window->from_ns)).run() &&
                        (!window->has_end() || meta.text("window.to_ns").text(std::to_string(window->to_ns)).run());
      if (!said) {
        return false;
      }
    }
    Insert losses(database_, failure_, "losses", 2);
    for (const auto& [reason, count] : walk_.rows().info.losses) {
      if (!losses.text(reason).number(count).run()) {
        return false;
      }
    }
    return true;
  }

  bool put_row(const WalkRow& row) {
    const uint64_t work = work_id(row.work);
    const uint64_t stack = stack_id(false, row.ustack);
    const uint64_t kernel_stack = stack_id(true, row.kstack);
    const uint64_t capture = stack_id(false, row.work.capture);
    if (failure_) {
      return false;
    }
    if (row.weight.samples != 0) {
      samples_.number(work).known_number(stack).known_number(kernel_stack).known_number(capture);
      return samples_.known_text(walk_.rows().tables.text(row.stall))
          .number(place(row))
          .number(row.weight.samples)
          .run();
    }
    measured_.number(work).known_number(stack).known_number(kernel_stack).known_number(capture);
    measured_.number(row.weight.ns).number(row.weight.launches).known_number(row.weight.queue_ns);
    return measured_.number(row.weight.bytes).run();
  }

  // Returns the frame of a sample's innermost source line, or of the kernel if the line is unknown.
  [[nodiscard]] uint64_t place(const WalkRow& row) const {
    size_t at = row.frames.size() - 1;
    while (at > 0 && walk_.frame(row.frames[at]).cls != analyze::FrameClass::gpu) {
      --at;
    }
    return row.frames[at] + uint64_t{1};
  }

  bool put_host() {
    const analyze::Aggregate& rows = walk_.rows();
    for (const analyze::Row& row : rows.host) {
      const p::Work& work = rows.work(row);
      const uint64_t id = work_id(work);
      host_.number(id).known_number(stack_id(false, work.ustack)).known_number(stack_id(true, work.kstack));
      host_.known_text(rows.tables.text(work.name)).number(row.weight.count).number(row.weight.ns);
      if (!host_.number(row.min_ns).number(row.max_ns).number(row.weight.bytes).run()) {
        return false;
      }
    }
    return true;
  }

  bool put_durations() {
    const analyze::Aggregate& rows = walk_.rows();
    return put_durations(rows.rows, rows.durations) && put_durations(rows.host, rows.host_durations);
  }

  bool put_durations(const LargeVector<analyze::Row>& rows,
                     const std::vector<std::vector<p::Duration::Bucket>>& durations) {
    for (size_t row = 0; row < durations.size(); ++row) {
      const auto work = work_ids_.find(index(walk_.rows().work(rows[row]).id));
      // A bucket may reach beyond the longest duration, which is known exactly.
      const uint64_t longest_ns = rows[row].max_ns == 0 ? UINT64_MAX : rows[row].max_ns;
      for (const p::Duration::Bucket& bucket : durations[row]) {
        const uint64_t shortest_ns = std::max(p::DurationBuckets::low(bucket.bucket), rows[row].min_ns);
        if (work != work_ids_.end() && !durations_.number(work->second)
                                            .number(std::min(shortest_ns, longest_ns))
                                            .number(std::min(p::DurationBuckets::high(bucket.bucket), longest_ns))
                                            .number(bucket.count)
                                            .run()) {
          return false;
        }
      }
    }
    return true;
  }

  uint64_t work_id(const p::Work& work) {
    const auto [known, is_new] = work_ids_.try_emplace(index(work.id), work_ids_.size() + 1);
    if (is_new) {
      const WorkFacts facts = facts_.of(work);
      works_.number(known->second).text(facts.op).text(analyze::work_label(walk_.rows().tables, work));
      works_.known_text(facts.process).known_number(facts.pid).known_text(facts.rank).known_text(facts.host);
      works_.known_number(facts.tid).known_text(facts.thread).known_text(facts.device);
      (facts.device.empty() ? works_.null() : works_.number(facts.stream)).known_text(facts.range);
      works_.run();
    }
    return known->second;
  }

  uint64_t stack_id(bool kernel, p::StackId id) {
    if (index(id) == 0) {
      return 0;
    }
    const auto [known, is_new] = stack_ids_.try_emplace(join_ids(kernel ? 1 : 0, index(id)), stack_ids_.size() + 1);
    if (is_new) {
      uint64_t position = 0;
      for (const uint32_t frame : walk_.stack(kernel, id)) {
        if (!stacks_.number(known->second).number(position++).number(frame + uint64_t{1}).run()) {
          break;
        }
      }
    }
    return known->second;
  }

  bool put_frames() {
    for (uint32_t id = 0; id < walk_.frame_count(); ++id) {
      const WalkFrame& frame = walk_.frame(id);
      frames_.number(id + uint64_t{1}).text(frame_kind(frame.cls)).text(frame.label).text(frame.name);
      frames_.known_text(frame.file).known_number(frame.line).known_text(frame.module).known_text(frame.build_id);
      if (!frames_.known_number(frame.address).run()) {
        return false;
      }
    }
    return true;
  }

  Walk& walk_;
  sqlite3* database_;
  FactTexts facts_;
  Failure failure_;
  Insert frames_;
  Insert stacks_;
  Insert works_;
  Insert measured_;
  Insert host_;
  Insert durations_;
  Insert samples_;
  std::unordered_map<uint32_t, uint64_t> work_ids_;   // key: WORK id
  std::unordered_map<uint64_t, uint64_t> stack_ids_;  // key: stack id and kind (1 for a Linux kernel stack)
};

}  // namespace

Status with_sqlite(Walk& walk, size_t most_pages, const std::function<Status(std::string_view)>& use) {
  const analyze::Weight& host = walk.rows().host_total;
  if (!walk.total().fits_signed() || std::max({host.ns, host.count, host.bytes}) > INT64_MAX) {
    return Error{"the sums of this profile are larger than SQLite's numbers can be", "export another format"};
  }
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2("gpuprof", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "memdb");
  const Database database(opened);
  // Turns off the journal, which would be a file: nothing is ever rolled back. The limit is in pages of 4 KiB.
  const std::string settings = "PRAGMA journal_mode = OFF; PRAGMA max_page_count = " + std::to_string(most_pages);
  Failure failure;
  if (result != SQLITE_OK || sqlite3_exec(opened, settings.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK ||
      sqlite3_exec(opened, gpuprof_sqlite_schema_begin, nullptr, nullptr, nullptr) != SQLITE_OK ||
      sqlite3_exec(opened, "BEGIN", nullptr, nullptr, nullptr) != SQLITE_OK) {
    failure.note(opened);
    return failure.error();
  }
  if (Status written = Writer(walk, opened).write(); !written) {
    return written;
  }
  if (sqlite3_exec(opened, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) {
    failure.note(opened);
    return failure.error();
  }
  sqlite3_int64 size = 0;
  const unsigned char* const bytes = sqlite3_serialize(opened, "main", &size, SQLITE_SERIALIZE_NOCOPY);
  if (bytes == nullptr) {
    return Error{"cannot make the database: it has no bytes", "try --format csv"};
  }
  return use({reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)});
}

}  // namespace gpuprof::output
