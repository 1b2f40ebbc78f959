#include "unwind/cache/table_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "catch.h"
#include "own_modules.h"
#include "unwind/cache/table_file.h"

using namespace gpuprof;
using namespace gpuprof::unwind;

namespace {

namespace fs = std::filesystem;

struct Scratch {
  Scratch() {
    std::string name = "/tmp/gpuprof-unwind-XXXXXX";
    path = ::mkdtemp(name.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path); }
  fs::path path;
};

symbolize::MappedFile open_file(const std::string& path) {
  symbolize::MappedFile file;
  file.path = path;
  file.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file;
}

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    files.push_back(entry.path());
  }
  return files;
}

std::vector<uint8_t> contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void put(const fs::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

bool equal(const Table& a, const Table& b) {
  const auto same = [](auto x, auto y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
  return a.base() == b.base() && same(a.pcs(), b.pcs()) && same(a.rule_indexes(), b.rule_indexes()) &&
         same(a.rules(), b.rules()) && same(a.pages(), b.pages());
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) {
      before_ = before;
    }
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) { value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
  const char* name_;
  std::optional<std::string> before_;
};

const std::string kSelf = fs::read_symlink("/proc/self/exe");

}  // namespace

TEST_CASE("a table is built once, and later read from disk", "[unwind]") {
  const Scratch scratch;
  const fs::path directory = scratch.path / "a" / "b";
  const symbolize::MappedFile file = open_file(kSelf);
  TableCache first(directory);
  CHECK_FALSE(first.peek(file));
  const auto built = first.get(file);
  REQUIRE(built);
  CHECK(first.get(file) == built);
  CHECK(first.peek(file) == built);
  REQUIRE(files_in(directory).size() == 1);
  struct stat status {};
  REQUIRE(::stat(directory.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);

  TableCache second(directory);
  const auto read = second.get(file);
  REQUIRE(read);
  CHECK(equal(*built, *read));
  CHECK(read->vaddr_of(0x1000, 0) == built->vaddr_of(0x1000, 0));

  // Changes a rule in the cache file. If a table has the changed rule, it was read from the cache, not rebuilt.
  const fs::path path = files_in(directory).at(0);
  std::vector<uint8_t> changed = contents(path);
  const uint64_t rule = GPUPROF_UNWIND_RULE(GPUPROF_UNWIND_SP, GPUPROF_UNWIND_FP_SAME, 123456, 0);
  std::memcpy(changed.data() + changed.size() - sizeof rule, &rule, sizeof rule);
  TableFile::seal(changed);
  put(path, changed);
  const auto read_again = TableCache(directory).get(file);
  REQUIRE(read_again);
  CHECK(read_again->rules().back() == rule);
}

TEST_CASE("a damaged cache file is rebuilt", "[unwind]") {
  const Scratch scratch;
  const symbolize::MappedFile file = open_file(kSelf);
  const auto built = TableCache(scratch.path).get(file);
  REQUIRE(built);
  const fs::path path = files_in(scratch.path).at(0);
  const std::vector<uint8_t> good = contents(path);
  const auto damage = GENERATE(as<std::string>{}, "empty", "short", "long", "version", "row", "last", "foreign");
  CAPTURE(damage);
  std::vector<uint8_t> bad = good;
  if (damage == "empty") {
    bad.clear();
  } else if (damage == "short") {
    bad.resize(bad.size() - 8);
  } else if (damage == "long") {
    bad.resize(bad.size() + 8);
  } else if (damage == "version") {
    ++bad[8];
  } else if (damage == "row") {
    bad[100] ^= 0x10;
  } else if (damage == "last") {
    bad.back() ^= 1;
  } else {
    // Stores the table of libc in the cache file of `file`, whose build id differs.
    const symbolize::MappedFile libc = open_file(own_file("/libc.so"));
    const Scratch elsewhere;
    REQUIRE(TableCache(elsewhere.path).get(libc));
    bad = contents(files_in(elsewhere.path).at(0));
  }
  put(path, bad);
  TableCache cache(scratch.path);
  const auto again = cache.get(file);
  REQUIRE(again);
  CHECK(equal(*built, *again));
  CHECK(contents(path) == good);
}

TEST_CASE("invalid table contents with a valid checksum are rejected", "[unwind]") {
  const auto table = Table::build(contents(kSelf));
  REQUIRE(table);
  const TableFile::Source source{1, 2};
  TableFile::Source last = source;
  last.back() ^= 1;
  const std::vector<uint8_t> good = TableFile::encode(*table, source);
  const auto decoded = TableFile::decode(good, source);
  REQUIRE(decoded);
  CHECK(equal(*table, *decoded));
  CHECK_FALSE(TableFile::decode(good, {2, 2}));
  CHECK_FALSE(TableFile::decode(good, last));
  for (size_t size = 0; size < 80; ++size) {
    CHECK_FALSE(TableFile::decode(std::span(good).first(size), source));
  }
  // Tests two faults: addresses that decrease, and a rule index that is invalid.
  for (const size_t at : {size_t{72 + 4}, 72 + table->pcs().size() * 4 + 2}) {
    std::vector<uint8_t> bad = good;
    bad[at] = bad[at + 1] = 0xff;
    TableFile::seal(bad);
    CHECK_FALSE(TableFile::decode(bad, source));
  }
  std::vector<uint8_t> same = good;
  TableFile::seal(same);
  CHECK(same == good);
}

TEST_CASE("unsafe or unusable cache directories are not used", "[unwind]") {
  const Scratch scratch;
  const symbolize::MappedFile file = open_file(kSelf);
  const auto stays_in_memory = [&](const std::string& path) {
    TableCache cache(path);
    return cache.get(file) != nullptr && TableCache(path).get(file) != nullptr;
  };
  // The cache is not used if other users may write to its folder.
  const fs::path open = scratch.path / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  CHECK(stays_in_memory(open));
  CHECK(files_in(open).empty());
  // The cache is not used if its folder is a symbolic link.
  const fs::path target = scratch.path / "target";
  fs::create_directory(target);
  fs::create_directory_symlink(target, scratch.path / "link");
  CHECK(stays_in_memory(scratch.path / "link"));
  CHECK(files_in(target).empty());
  // The cache is not used if its path is a file, relative, or empty.
  put(scratch.path / "file", {1});
  CHECK(stays_in_memory(scratch.path / "file"));
  CHECK(stays_in_memory(scratch.path / "file" / "below"));
  CHECK(stays_in_memory("relative"));
  CHECK(stays_in_memory(""));
  if (::geteuid() == 0) {
    // The cache is not used if its folder belongs to another user.
    const fs::path foreign = scratch.path / "foreign";
    fs::create_directory(foreign);
    REQUIRE(::chown(foreign.c_str(), 12345, 12345) == 0);
    CHECK(stays_in_memory(foreign));
    CHECK(stays_in_memory(foreign / "below"));
    CHECK(files_in(foreign).empty());
  }
}

TEST_CASE("the cache is not created through a link that another user could have made", "[unwind]") {
  const Scratch scratch;
  const fs::path target = scratch.path / "target";
  const fs::path shared = scratch.path / "shared";
  fs::create_directory(target);
  fs::create_directory(shared);
  fs::create_directory_symlink(target, shared / "cache");
  CHECK(CacheDirectory::open(shared / "cache" / "of_ours"));  // allowed: only this user can have made the link
  REQUIRE(files_in(target).size() == 1);
  fs::permissions(shared, fs::perms::all);
  CHECK_FALSE(CacheDirectory::open(shared / "cache" / "unwind"));
  CHECK_FALSE(CacheDirectory::open(shared / "cache" / "of_ours"));
  CHECK_FALSE(CacheDirectory::open(shared / "cache"));
  CHECK(files_in(target).size() == 1);
  CHECK(CacheDirectory::open(shared / "other" / "unwind"));
}

TEST_CASE("links inside of the cache directory are not followed", "[unwind]") {
  const Scratch scratch;
  const symbolize::MappedFile file = open_file(kSelf);
  const auto built = TableCache(scratch.path).get(file);
  const fs::path path = files_in(scratch.path).at(0);
  fs::rename(path, scratch.path / "moved");
  fs::create_symlink(scratch.path / "moved", path);
  TableCache cache(scratch.path);
  CHECK(cache.get(file) != nullptr);
  CHECK_FALSE(fs::is_symlink(path));  // rebuilt and replaced
}

TEST_CASE("the least recently used files are removed, but not those of other users", "[unwind]") {
  const Scratch scratch;
  const auto directory = CacheDirectory::open(scratch.path / "d", 1000);
  REQUIRE(directory);
  const std::vector<uint8_t> bytes(400, 7);
  const auto age = [&](const std::string& name, time_t seconds) {
    const timespec when{::time(nullptr) - seconds, 0};
    const timespec times[2] = {when, when};
    REQUIRE(::utimensat(AT_FDCWD, (scratch.path / "d" / name).c_str(), times, 0) == 0);
  };
  const std::string suffix(CacheDirectory::kSuffix);
  const std::string one = "01" + suffix;
  const std::string two = "02" + suffix;
  const std::string three = "contents-03" + suffix;
  const std::string gone = ".new-1-1-01" + suffix;
  const std::vector<std::string> foreign = {
      "thesis.tex",         "0123456789abcdef",  ".new-1-1-gone",      "x1" + suffix,        suffix,
      "contents-" + suffix, "01" + suffix + "~", ".new-1-01" + suffix, ".new-1--01" + suffix};
  for (const std::string& name : foreign) {
    put(scratch.path / "d" / name, std::vector<uint8_t>(5000));
    age(name, 1'000'000);
  }
  REQUIRE(directory->write(one, bytes));
  REQUIRE(directory->write(two, bytes));
  age(one, 100);
  age(two, 200);
  put(scratch.path / "d" / gone, bytes);
  age(gone, 7200);
  CHECK(directory->read(two) == bytes);  // now `two` is the most recently used
  REQUIRE(directory->write(three, bytes));
  CHECK_FALSE(directory->read(one));
  CHECK(directory->read(two) == bytes);
  CHECK(directory->read(three) == bytes);
  CHECK_FALSE(fs::exists(scratch.path / "d" / gone));
  CHECK_FALSE(directory->write("04" + suffix, std::vector<uint8_t>(1001)));
  for (const std::string& name : foreign) {
    CAPTURE(name);
    CHECK(fs::exists(scratch.path / "d" / name));
    CHECK_FALSE(directory->write(name, bytes));
  }
}

TEST_CASE("an unused table is not kept in memory", "[unwind]") {
  TableCache cache("");
  const symbolize::MappedFile file = open_file(kSelf);
  auto table = cache.get(file);
  REQUIRE(table);
  const std::weak_ptr<const Table> kept = table;
  table.reset();
  CHECK(kept.expired());
  CHECK_FALSE(cache.peek(file));
  CHECK(cache.get(file));
}

TEST_CASE("the cache directory depends on the environment and the user", "[unwind]") {
  const Scratch scratch;
  const std::string home = scratch.path / "home";
  fs::create_directory(home);
  const Variable chosen("GPUPROF_UNWIND_CACHE", nullptr);
  const Variable cache("XDG_CACHE_HOME", nullptr);
  const Variable user("HOME", home.c_str());
  CHECK(TableCache::default_directory() == home + "/.cache/gpuprof/unwind");
  {
    const Variable set("XDG_CACHE_HOME", home.c_str());
    CHECK(TableCache::default_directory() == home + "/gpuprof/unwind");
  }
  {
    const Variable relative("XDG_CACHE_HOME", "here");
    CHECK(TableCache::default_directory() == home + "/.cache/gpuprof/unwind");
  }
  {
    const Variable off("GPUPROF_UNWIND_CACHE", "");
    CHECK(TableCache::default_directory().empty());
  }
  {
    const Variable elsewhere("GPUPROF_UNWIND_CACHE", "/x/y");
    CHECK(TableCache::default_directory() == "/x/y");
  }
  if (::geteuid() == 0) {
    // The user is root, but HOME belongs to another user, as with a `sudo` that keeps HOME.
    REQUIRE(::chown(home.c_str(), 12345, 12345) == 0);
    CHECK(TableCache::default_directory() == "/var/cache/gpuprof/unwind");
  }
}

TEST_CASE("threads that request the same file share one table", "[unwind]") {
  const Scratch scratch;
  TableCache cache(scratch.path);
  const symbolize::MappedFile file = open_file(own_file("/libstdc++.so"));
  std::vector<std::shared_ptr<const Table>> tables(8);
  std::vector<std::thread> threads;
  threads.reserve(tables.size());
  for (auto& table : tables) {
    threads.emplace_back([&] { table = cache.get(file); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  REQUIRE(tables[0]);
  for (const auto& table : tables) {
    CHECK(table == tables[0]);
  }
}

TEST_CASE("files without a table are parsed only once", "[unwind]") {
  const Scratch scratch;
  put(scratch.path / "text", {'n', 'o', ' ', 'e', 'l', 'f'});
  const symbolize::MappedFile text = open_file(scratch.path / "text");
  TableCache cache(scratch.path / "cache");
  CHECK_FALSE(cache.get(text));
  CHECK_FALSE(cache.get(text));
  CHECK_FALSE(cache.get(symbolize::MappedFile{}));
  // A file that could not be used is tried again once it has new contents.
  fs::copy_file(kSelf, scratch.path / "text", fs::copy_options::overwrite_existing);
  CHECK(cache.get(open_file(scratch.path / "text")));
}
