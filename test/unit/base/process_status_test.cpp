#include "base/process/process_status.h"

#include <unistd.h>

#include <string>

#include "catch.h"

using gpuprof::read_status_of;
using gpuprof::status_numbers;
using gpuprof::status_value;

TEST_CASE("a line of a status is found by its complete name") {
  const std::string status = "Name:\tUid:\t7\nUmask:\t0022\nTgid:\t12\nNSpid:\t12\t3\nGroups:\t\nSeccomp:\t0\n";
  CHECK(status_value(status, "Tgid") == "12");
  CHECK(status_value(status, "NSpid") == "12\t3");
  CHECK(status_value(status, "Groups") == "");
  CHECK_FALSE(status_value(status, "gid"));
  CHECK_FALSE(status_value(status, "Uid"));
  CHECK_FALSE(status_value("x\nTgid:\t12", "Tgid"));  // truncated line
}

TEST_CASE("number lists of a status are parsed, and invalid ones rejected") {
  const std::string status = "Name:\tx\nNSpid:\t12\t3\nGroups:\t \nCapEff:\t00000000000000ff\nUid:\t4294967296\n";
  CHECK(status_numbers<uint32_t>(status, "NSpid") == std::vector<uint32_t>{12, 3});
  CHECK(status_numbers<uint32_t>(status, "Groups") == std::vector<uint32_t>{});
  CHECK(status_numbers<uint64_t>(status, "CapEff", 16) == std::vector<uint64_t>{255});
  CHECK_FALSE(status_numbers<uint32_t>(status, "CapEff"));
  CHECK_FALSE(status_numbers<uint32_t>(status, "Uid"));
  CHECK_FALSE(status_numbers<uint32_t>(status, "Gid"));
}

TEST_CASE("the status of a process and of its threads is read") {
  const auto pid = static_cast<uint32_t>(::getpid());
  CHECK(status_numbers<uint32_t>(read_status_of(pid), "Pid") == std::vector{pid});
  CHECK(status_numbers<uint32_t>(read_status_of(pid, ::getpid()), "Tgid") == std::vector{pid});
  CHECK(read_status_of(pid, 1).empty());
}
