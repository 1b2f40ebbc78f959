#include "runtime/module_scan.h"

#include "catch.h"

namespace injection = gpuprof::injection;

namespace {

int scans = 0;
int scans_inside = 0;

}  // namespace

TEST_CASE("what is called at the end of a module scan still holds off other scans, and so fork()") {
  scans = 0;
  scans_inside = 0;
  injection::scan_modules_and([] {
    ++scans;
    injection::scan_modules_and([] { ++scans_inside; });
  });
  CHECK(scans == 1);
  CHECK(scans_inside == 0);
  injection::scan_modules_and([] { ++scans; });
  CHECK(scans == 2);
}
