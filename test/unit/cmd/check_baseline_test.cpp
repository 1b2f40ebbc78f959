#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "catch.h"
#include "cmd/check/baseline.h"

namespace gpuprof::cmd {
namespace {

namespace fs = std::filesystem;

// Returns the file as RunReader leaves it.
RunFile read_before(const std::string& path) {
  RunFile file{path};
  if (const auto fd = file.open()) {
    file.id = FileId::of(fd->get());
  }
  return file;
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/gpuprof-unit.XXXXXX";
    path_ = ::mkdtemp(name);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] RunFile profile(const std::string& text) const {
    std::ofstream(path_ / "profile.txt") << text;
    return read_before(*this / "profile.txt");
  }

 private:
  fs::path path_;
};

compare::RunFacts facts(const std::string& commit, const std::string& driver = "NVIDIA 580.65.06") {
  compare::RunFacts made;
  made.devices = {"NVIDIA H200"};
  made.driver = driver;
  made.commit = commit;
  return made;
}

std::string newest_commit(const Baseline& baseline, const compare::RunFacts& like) {
  const auto kept = baseline.newest(like);
  REQUIRE(kept.ok());
  return *kept ? (*kept)->commit : "none";
}

TEST_CASE("a baseline has another commit and the same device and driver") {
  const Folder folder;
  const Baseline baseline(folder / "kept");
  CHECK(newest_commit(baseline, facts("b")) == "none");
  REQUIRE(baseline.keep(facts("a"), {folder.profile("one"), folder.profile("one")}).ok());
  CHECK(newest_commit(baseline, facts("b")) == "a");
  CHECK(newest_commit(baseline, facts("")) == "a");
  CHECK(newest_commit(baseline, facts("a")) == "none");
  CHECK(newest_commit(baseline, facts("b", "NVIDIA 570.1")) == "none");
  const auto kept = baseline.newest(facts("b"));
  REQUIRE((*kept)->files.size() == 2);
  CHECK((*kept)->files[1].open().ok());
  std::ifstream copy((*kept)->files[1].path);
  std::string text;
  copy >> text;
  CHECK(text == "one");
}

TEST_CASE("the newest baseline is used, and incomplete ones are ignored") {
  const Folder folder;
  const Baseline baseline(folder / "kept");
  const auto place = baseline.keep(facts("new"), {folder.profile("x")});
  REQUIRE(place.ok());
  const fs::path machine = fs::path(*place).parent_path();
  for (const char* name : {"20200101T000000Z-old", ".20990101T000000Z-part-1", "20990101T000000Z-empty"}) {
    fs::create_directory(machine / name);
    fs::permissions(machine / name, fs::perms::owner_all);
  }
  for (const char* name : {"20200101T000000Z-old", ".20990101T000000Z-part-1"}) {
    std::ofstream(machine / name / "run-1.txt") << "x";
  }
  CHECK(newest_commit(baseline, facts("head")) == "new");
  CHECK(newest_commit(baseline, facts("new")) == "old");
}

TEST_CASE("commits are equal only if their complete names are") {
  const Folder folder;
  const RunFile profile = folder.profile("x");
  // A commit is never its own baseline. Another commit can be, even if both commit names would make the same folder
  // name (in folder names, characters are replaced and long names are cut).
  const std::string prefix(100, 'a');
  for (const auto& [one, other] : {std::pair<std::string, std::string>("b-1", "1"),
                                   {"feature/x", "feature_x"},
                                   {"feature/x", "feature.x"},
                                   {"a b", "a\tb"},
                                   {".hidden", "_.hidden"},
                                   {prefix + "1", prefix + "2"},
                                   {prefix + "1", prefix},
                                   {"unknown", "_unknown"}}) {
    INFO(one << " and " << other);
    const Folder own;
    const Baseline kept(own / "kept");
    REQUIRE(kept.keep(facts(one), {profile}).ok());
    CHECK(newest_commit(kept, facts(one)) == "none");
    CHECK(newest_commit(kept, facts(other)) != "none");
    REQUIRE(kept.keep(facts(other), {profile}).ok());
    CHECK(newest_commit(kept, facts(one)) != newest_commit(kept, facts(other)));
  }
}

TEST_CASE("runs without a commit are a baseline, also for each other") {
  const Folder folder;
  const Baseline baseline(folder / "kept");
  REQUIRE(baseline.keep(facts(""), {folder.profile("x")}).ok());
  CHECK(newest_commit(baseline, facts("")).empty());
  CHECK(newest_commit(baseline, facts("_unknown")).empty());
}

TEST_CASE("two baselines of the same second are both kept, and the later one is the newest") {
  const Folder folder;
  const Baseline baseline(folder / "kept");
  const auto first = baseline.keep(facts("a"), {folder.profile("x")});
  const auto second = baseline.keep(facts("a"), {folder.profile("x")});
  REQUIRE((first.ok() && second.ok()));
  CHECK(*first < *second);
  CHECK((*baseline.newest(facts("b")))->folder == *second);
}

TEST_CASE("names in a profile cannot choose a folder outside of the baseline") {
  const Folder folder;
  const Baseline baseline(folder / "kept");
  compare::RunFacts hostile = facts("../../outside", "../..");
  hostile.devices = {"..", "/tmp/x"};
  const auto place = baseline.keep(hostile, {folder.profile("x")});
  REQUIRE(place.ok());
  CHECK(fs::weakly_canonical(*place).string().starts_with(fs::weakly_canonical(folder / "kept").string() + "/"));
  CHECK(fs::path(*place).parent_path().parent_path() == fs::path(folder / "kept"));
}

TEST_CASE("a missing profile leaves no files behind, and a file cannot be a baseline folder") {
  const Folder folder;
  const Baseline baseline(folder / "kept");
  CHECK_FALSE(baseline.keep(facts("a"), {read_before(folder / "nonexistent")}).ok());
  // An empty profile is rejected. (A pipe gives an empty profile if a command has already read it once.)
  CHECK_FALSE(baseline.keep(facts("a"), {read_before("/dev/null")}).ok());
  CHECK_FALSE(baseline.keep(facts("a"), {read_before("/proc/self/mem")}).ok());  // reading this file fails
  CHECK(newest_commit(baseline, facts("b")) == "none");
  CHECK_FALSE(Baseline(folder.profile("x").path).newest(facts("a")).ok());
}

TEST_CASE("a profile that another file has replaced since it was read is not kept") {
  const Folder folder;
  const Baseline baseline(folder / "kept");
  const RunFile profile = folder.profile("x");
  std::ofstream(folder / "other") << "y";
  fs::rename(folder / "other", profile.path);
  CHECK_FALSE(baseline.keep(facts("a"), {profile}).ok());
  CHECK(newest_commit(baseline, facts("b")) == "none");
}

TEST_CASE("may_keep() checks in advance whether profiles can be stored, and creates nothing") {
  const Folder folder;
  CHECK(Baseline(folder / "new/one").can_save().ok());
  CHECK_FALSE(fs::exists(folder / "new"));
  CHECK(Baseline(folder / "").can_save().ok());
  CHECK_FALSE(Baseline(folder.profile("x").path).can_save().ok());
  CHECK_FALSE(Baseline(folder.profile("x").path + "/below").can_save().ok());
}

}  // namespace
}  // namespace gpuprof::cmd
