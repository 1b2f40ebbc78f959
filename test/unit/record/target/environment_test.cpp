#include "record/target/environment.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "catch.h"

using gpuprof::Error;
using gpuprof::record::check_environment;

namespace {

std::vector<Error> remarks_on(std::vector<std::string> environment) {
  return check_environment(environment, gpuprof::backend::make_all());
}

std::string message_on(const std::string& variable) {
  const auto remarks = remarks_on({variable});
  return remarks.empty() ? "" : remarks.front().message + " | " + remarks.front().hint;
}

}  // namespace

TEST_CASE("valid or unrelated variables cause no remarks") {
  CHECK(remarks_on({"HOME=/root", "GPUPROF_UNWIND_CACHE=", "GPUPROF_DEBUG_BPF=1", "GPUPROF_SOCKET=x", "GPUPROF_TOKEN=y",
                    "GPUPROF_UID=0", "GPUPROF_SOURCE=/src", "GPUPROF_EXAMPLE=/x", "GPUPROF_BUILD_DIR=b",
                    "GPUPROF_JOBS=2", "GPUPROF=", "GPUPROF_", "NO_EQUALS_SIGN"})
            .empty());
}

TEST_CASE("a variable that gpuprof does not know and does not report is listed") {
  const std::vector<std::string> environment{"GPUPROF_FOO=1", "GPUPROF_UNWIND_CACHE=/x", "GPUPROF_UNWIND_CACHES=/x",
                                             "FOO=2", "GPUPROF_TOKEN=y"};
  CHECK(gpuprof::record::unknown_variables(environment) == std::vector<std::string>{"GPUPROF_FOO"});
}

TEST_CASE("a misspelt variable is reported with the closest known one") {
  CHECK(message_on("GPUPROF_CUPTI_FLUSH=50").find("did you mean GPUPROF_CUPTI_FLUSH_MS?") != std::string::npos);
  CHECK(message_on("GPUPROF_FLUSH_MS=50").find("did you mean GPUPROF_CUPTI_FLUSH_MS?") != std::string::npos);
  CHECK(message_on("GPUPROF_CUPTY_PATH=/x").find("did you mean GPUPROF_CUPTI_PATH?") != std::string::npos);
  CHECK(message_on("GPUPROF_UNWIND_CACHES").find("did you mean GPUPROF_UNWIND_CACHE?") != std::string::npos);
}

TEST_CASE("values that would be ignored are reported") {
  if (gpuprof::backend::make_all().size() < 2) {
    return;  // gpuprof was built without CUPTI
  }
  CHECK(message_on("GPUPROF_CUPTI_DOMAINS=driver").empty());
  CHECK(message_on("GPUPROF_CUPTI_DOMAINS=none").empty());
  CHECK(message_on("GPUPROF_CUPTI_DOMAINS=Driver").find("'Driver' is not one of") != std::string::npos);
  CHECK(message_on("GPUPROF_CUPTI_FLUSH_MS=10").empty());
  CHECK(message_on("GPUPROF_CUPTI_FLUSH_MS=1000").empty());
  for (const char* bad : {"", "9", "1001", "50ms", "-50", "99999999999999999999"}) {
    CHECK(message_on("GPUPROF_CUPTI_FLUSH_MS=" + std::string(bad)).find("from 10 to 1000") != std::string::npos);
  }
}

TEST_CASE("a libcupti that cannot be loaded is reported with the loader's reason") {
  if (gpuprof::backend::make_all().size() < 2) {
    return;
  }
  const auto folder = std::filesystem::temp_directory_path() / ("gpuprof-env-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  CHECK(message_on("GPUPROF_CUPTI_PATH=/no/such/folder").find("no libcupti.so.13 or .12 in") != std::string::npos);
  CHECK(message_on("GPUPROF_CUPTI_PATH=" + folder.string()).find("is ignored") != std::string::npos);
  std::ofstream(folder / "libcupti.so.13") << "no library";
  CHECK(message_on("GPUPROF_CUPTI_PATH=" + folder.string()).find("libcupti.so.13") != std::string::npos);
  CHECK_FALSE(message_on("GPUPROF_CUPTI_PATH=/no/such/folder:libc.so.6").empty());  // libc.so.6 is not CUPTI
  std::filesystem::remove_all(folder);
}
