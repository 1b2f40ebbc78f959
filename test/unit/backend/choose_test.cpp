#include <string>
#include <vector>

#include "backend/backend.h"
#include "catch.h"

using namespace gpuprof;
using namespace gpuprof::backend;

namespace {

class Named final : public Backend {
 public:
  Named(const char* name, bool only_by_name, const char* code_from = "")
      : descriptor_{name, ""}, only_by_name_(only_by_name), code_from_(code_from) {}
  [[nodiscard]] const Descriptor& descriptor() const override { return descriptor_; }
  [[nodiscard]] Availability probe() const override { return {}; }
  [[nodiscard]] bool only_by_name() const override { return only_by_name_; }
  [[nodiscard]] std::string_view code_from() const override { return code_from_; }
  Status prepare(LaunchEnv& /*env*/) override { return {}; }

 private:
  Descriptor descriptor_;
  bool only_by_name_;
  std::string_view code_from_;
};

Backends three() {
  Backends all;
  all.push_back(std::make_unique<Named>("one", false));
  all.push_back(std::make_unique<Named>("two", false));
  all.push_back(std::make_unique<Named>("third", true));
  return all;
}

std::vector<std::string> names_of(const Backends& backends) {
  std::vector<std::string> names;
  for (const auto& one : backends) {
    names.emplace_back(one->descriptor().name);
  }
  return names;
}

}  // namespace

TEST_CASE("backends are chosen by name; the default is all but those that must be named") {
  using Names = std::vector<std::string>;
  CHECK(names_of(*choose(three(), {})) == Names{"one", "two"});
  CHECK(names_of(*choose(three(), {"third"})) == Names{"third"});
  CHECK(names_of(*choose(three(), {"third", "one"})) == Names{"one", "third"});
}

TEST_CASE("the backend that knows the code of a sampler's samples is added for its code only") {
  const auto chosen = [](const std::vector<std::string>& names, bool samples) {
    Backends all = three();
    all.push_back(std::make_unique<Named>("sampler", true, "two"));
    const auto found = choose(std::move(all), names, samples);
    REQUIRE(found);
    std::string text;
    for (const auto& one : *found) {
      text += std::string(one->descriptor().name) + (one->is_code_only() ? " for code, " : ", ");
    }
    return text;
  };
  CHECK(chosen({"sampler"}, true) == "two for code, sampler, ");
  CHECK(chosen({"sampler"}, false) == "sampler, ");
  CHECK(chosen({"sampler", "two"}, true) == "two, sampler, ");
  CHECK(chosen({}, true) == "one, two, ");
  CHECK(chosen({"one"}, true) == "one, ");
}

TEST_CASE("an unknown backend name is an error that lists the known names") {
  const auto chosen = choose(three(), {"one", "tow"});
  REQUIRE_FALSE(chosen);
  CHECK(chosen.error().message == "no backend 'tow'");
  CHECK(chosen.error().hint == "there are one, two, third");
  CHECK(chosen.error().exit_code == kExitUsage);
}

TEST_CASE("only the backend drm must be named") {
  for (const auto& one : make_all()) {
    CHECK(one->only_by_name() == (std::string(one->descriptor().name) == "drm"));
  }
}
