#include "unwind/cache/table_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "base/files/safe_open.h"
#include "base/log.h"
#include "base/text/hex.h"
#include "unwind/cache/table_file.h"

namespace gpuprof::unwind {
namespace {

// Identifies a file and its contents: device, inode, size, modification time.
using Key = std::tuple<uint64_t, uint64_t, int64_t, int64_t, int64_t>;

std::optional<Key> key_of(const symbolize::MappedFile& file) {
  struct stat status {};
  if (!file.fd || ::fstat(file.fd.get(), &status) != 0) {
    return std::nullopt;
  }
  return Key{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

constexpr size_t kMaxWithoutTable = 16384;  // number of files that the cache remembers as having no table

struct CachedTable {
  std::mutex building;  // locked by the thread that builds the table
  // State::mutex protects `none` and `table`.
  bool none = false;                 // true: the file has no table
  std::weak_ptr<const Table> table;  // weak, because the users of the table own it
};

}  // namespace

struct TableCache::State {
  State(const std::string& path, std::unique_ptr<TableMaker> given) : directory_path(path), maker(std::move(given)) {}

  const CacheDirectory* open_directory() {
    std::call_once(directory_once, [this] {
      if (!directory_path.empty()) {
        directory = CacheDirectory::open(directory_path);
      }
    });
    return directory ? &*directory : nullptr;
  }

  std::shared_ptr<const Table> make(const symbolize::MappedFile& file);

  const std::string directory_path;
  const std::unique_ptr<TableMaker> maker;
  std::once_flag directory_once;
  std::optional<CacheDirectory> directory;

  mutable std::mutex mutex;  // protects the members below
  std::map<Key, std::shared_ptr<CachedTable>> entries;
  bool told_full = false;

  void trim();
  [[nodiscard]] uint64_t bytes() const;
  std::shared_ptr<const Table> keep(CachedTable& entry, std::shared_ptr<const Table> table);
};

TableCache::TableCache(const std::string& directory, std::unique_ptr<TableMaker> maker)
    : state_(std::make_unique<State>(directory, std::move(maker))) {}
TableCache::~TableCache() = default;

std::string TableCache::default_directory() {
  if (const char* chosen = std::getenv("GPUPROF_UNWIND_CACHE"); chosen != nullptr) {
    return chosen;
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string path;
  if (cache != nullptr && *cache == '/') {
    path = cache;
  } else if (home != nullptr && *home == '/') {
    path = std::string(home) + "/.cache";
    cache = home;
  }
  struct stat status {};
  if (path.empty() || (::stat(cache, &status) == 0 && status.st_uid != ::geteuid())) {
    return ::geteuid() == 0 ? "/var/cache/gpuprof/unwind" : "";
  }
  return path + "/gpuprof/unwind";
}

// A table of a hostile file is not stored: the process that made it may have named another file's source.
std::shared_ptr<const Table> TableCache::State::make(const symbolize::MappedFile& file) {
  const std::optional<TableInput> input = maker->read(file);
  if (!input) {
    return nullptr;
  }
  const CacheDirectory* kept = counts_as_ours(file.fd.get()) ? open_directory() : nullptr;
  const std::string name = hex_text(input->source) + std::string(CacheDirectory::kSuffix);
  const auto stored = kept != nullptr ? kept->read(name) : std::nullopt;
  std::unique_ptr<Table> table = stored ? TableFile::decode(*stored, input->source) : nullptr;
  if (!table) {
    const std::vector<uint8_t> made = maker->make(file);
    table = TableFile::decode(made, input->source);
    if (table && kept != nullptr) {
      kept->write(name, made);
    }
  }
  if (table) {
    table->segments_ = input->segments;
  }
  return table;
}

// Removes the entries of files whose tables nobody uses, unless a thread is working on the entry.
void TableCache::State::trim() {
  const bool all = entries.size() > kMaxWithoutTable;
  std::erase_if(entries, [all](const auto& item) {
    const CachedTable& entry = *item.second;
    return item.second.use_count() == 1 && (entry.none ? all : entry.table.expired());
  });
}

uint64_t TableCache::State::bytes() const {
  uint64_t sum = 0;
  for (const auto& item : entries) {
    const std::shared_ptr<const Table> table = item.second->table.lock();
    sum += table ? table->bytes() : 0;
  }
  return sum;
}

// Returns null if the memory for all tables is used up. When a later process maps the file, the cache tries again.
std::shared_ptr<const Table> TableCache::State::keep(CachedTable& entry, std::shared_ptr<const Table> table) {
  const std::lock_guard lock(mutex);
  trim();
  if (table && (table->bytes() > kMaxBytes || bytes() > kMaxBytes - table->bytes())) {
    if (!std::exchange(told_full, true)) {
      log::warn("unwind tables have reached their memory limit: frames in more files are walked by frame pointers");
    }
    return nullptr;
  }
  entry.none = !table;
  entry.table = table;
  return table;
}

std::shared_ptr<const Table> TableCache::get(const symbolize::MappedFile& file) {
  const std::optional<Key> key = key_of(file);
  if (!key) {
    return nullptr;
  }
  std::shared_ptr<CachedTable> entry;
  {
    const std::lock_guard lock(state_->mutex);
    std::shared_ptr<CachedTable>& slot = state_->entries[*key];
    if (!slot) {
      slot = std::make_shared<CachedTable>();
    }
    entry = slot;
  }
  const std::lock_guard building(entry->building);
  {
    const std::lock_guard lock(state_->mutex);
    std::shared_ptr<const Table> table = entry->table.lock();
    if (table || entry->none) {
      return table;
    }
  }
  return state_->keep(*entry, state_->make(file));
}

std::shared_ptr<const Table> TableCache::peek(const symbolize::MappedFile& file) const {
  const std::optional<Key> key = key_of(file);
  const std::lock_guard lock(state_->mutex);
  const auto found = key ? state_->entries.find(*key) : state_->entries.end();
  return found == state_->entries.end() ? nullptr : found->second->table.lock();
}

}  // namespace gpuprof::unwind
