#include <string>
#include <vector>

#include "catch.h"
#include "profile/reader.h"
#include "profile/text_input.h"

using namespace gpuprof;
using namespace gpuprof::profile;
using test::open_text;

namespace {

const std::string kStrings =
    "string\t1\tapp\nstring\t2\tactive\nstring\t3\tmain;0x7f10;step;\nstring\t4\tdo_ioctl_[k];0xffff_[k];\n"
    "string\t5\tk.cpp\nstring\t6\tgemm\nstring\t7\tmad; (8)\n";

struct Seen {
  std::vector<EuStall> samples;
  std::vector<Process> processes;
  std::vector<Work> works;
  std::vector<GpuPlace> places;
  std::vector<std::string> stacks;  // each as "k:frame,0x10,"
  std::vector<std::string> metas;
  std::string error;
  uint64_t bad = 0;
  uint64_t unknown = 0;
  bool cut_short = false;
};

std::string text_of(const Stack& stack) {
  std::string text = stack.kernel ? "k:" : "u:";
  for (const StackElement& element : stack.elements) {
    text += (element.is_address ? "@" + std::to_string(element.address) : std::string(element.text)) + ",";
  }
  return text;
}

Seen read(const std::string& text, bool lenient = false) {
  Seen seen;
  auto reader = open_text(text, lenient);
  if (!reader) {
    seen.error = reader.error().message;
    return seen;
  }
  CHECK(reader->is_published_form());
  for (;;) {
    const auto next = reader->next();
    if (!next) {
      seen.error = next.error().message;
      break;
    }
    if (!*next) {
      break;
    }
    if (const auto* sample = std::get_if<EuStall>(&**next)) seen.samples.push_back(*sample);
    if (const auto* process = std::get_if<Process>(&**next)) seen.processes.push_back(*process);
    if (const auto* work = std::get_if<Work>(&**next)) seen.works.push_back(*work);
    if (const auto* place = std::get_if<GpuPlace>(&**next)) seen.places.push_back(*place);
    if (const auto* stack = std::get_if<Stack>(&**next)) seen.stacks.push_back(text_of(*stack));
    if (const auto* meta = std::get_if<Meta>(&**next)) seen.metas.push_back(std::string(meta->key));
  }
  seen.bad = reader->skipped_bad();
  seen.unknown = reader->skipped_unknown();
  seen.cut_short = reader->cut_short();
  return seen;
}

}  // namespace

TEST_CASE("full lines, state lines and counts give the same samples") {
  const std::string interval = "interval_start\t8\t10.5\n";
  const std::string states =
      "proc_name\t1\npid\t9\nustack\t3\nkstack\t4\nshader_type\t2\ngpu_file\t5\ngpu_symbol\t6\n"
      "insn_text\t7\n";
  for (const std::string& text :
       {kStrings + interval + "eustall\t1\t9\t3\t4\t0\t0\t5\t6\t7\t2\t0x1f8\t12\ninterval_end\t8\n",
        kStrings + interval + states + "e\t7\t2\t1f8\t12\nframe\n", kStrings + states + interval + "e\t2\t1f8\t12\n"}) {
    INFO(text);
    const Seen seen = read(text);
    CHECK(seen.error.empty());
    REQUIRE(seen.samples.size() == 1);
    CHECK(seen.samples[0].count == 12);
    CHECK(seen.samples[0].slice == 0);
    CHECK(seen.stacks == std::vector<std::string>{"u:main,@32528,step,", "k:do_ioctl_[k],0xffff_[k],"});
    REQUIRE(seen.places.size() == 1);
    CHECK(seen.places[0].offset == 0x1f8);
    REQUIRE(seen.processes.size() == 1);
    CHECK(seen.processes[0].pid == 9);
    CHECK(seen.metas == std::vector<std::string>{"interval_ns"});
    CHECK(seen.unknown == 0);
  }
  const Seen counts = read(kStrings +
                           "interval\t0\t10.5\nkernel\t0xffff800000001000\t1\t9\t3\t5\t6\n"
                           "eustall\t0x1f8\t7\t12\t0\t0\t0\t0\t0\t0\t0\t0\t3\nmetric\tbusy-percent\t3\n");
  CHECK(counts.error.empty());
  REQUIRE(counts.samples.size() == 2);
  CHECK(counts.samples[0].count == 12);
  CHECK(counts.samples[1].count == 3);
  CHECK(counts.samples[0].reason != counts.samples[1].reason);
  CHECK(counts.works.size() == 1);
  CHECK(counts.unknown == 0);  // known, and skipped
}

TEST_CASE("intervals become slices of 10 ms") {
  const std::string sample = "e\t2\t0\t1\n";
  const Seen seen = read(kStrings + "interval_start\t0\t100.000000\n" + sample + "interval_start\t1\t100.010000\n" +
                         sample + "interval_start\t2\t101.000001\n" + sample + "interval_start\t3\t99.0\n" + sample);
  REQUIRE(seen.samples.size() == 4);
  CHECK(seen.samples[0].slice == 0);
  CHECK(seen.samples[1].slice == 1);
  CHECK(seen.samples[2].slice == 100);
  CHECK(seen.samples[3].slice == 0);  // 99.0 s is before the first interval (100.0 s), so the slice is 0
  const Seen untimed = read(kStrings + "interval_start\t5\n" + sample + "interval_start\t7\n" + sample);
  REQUIRE(untimed.samples.size() == 2);
  CHECK(untimed.samples[1].slice == 2);
}

TEST_CASE("a rejected line changes nothing") {
  const std::string good = "eustall\t1\t9\t3\t4\t0\t0\t5\t6\t7\t2\t0x0\t12\n";
  for (const std::string bad : {"eustall\t1\t9\t3\t4\t0\t0\t5\t6\t7\t99\t0x0\t12\n",
                                "eustall\t1\t9\t3\t4\t0\t0\t5\t6\t7\t2\t0x0\t-1\n",
                                "eustall\t1\t4294967296\t3\t4\t0\t0\t5\t6\t7\t2\t0x0\t1\n",
                                "eustall\t1\t9\t3\t4\t0\t0\t5\t6\t7\t2\t0xg\t1\n",
                                "eustall\t1\t9\t3\t4\t0\t0\t5\t6\t7\t2\t0x0\t1\t1\n",
                                "eustall\t0x0\t88\t1\t0\t0\t0\t0\t0\t0\t0\t0\t0\n",
                                "eustall\t0x0\t7\t1\t0\t0\t0\t0\t0\t0\t0\t0\n",
                                "e\t2\t0\n",
                                "e\t2\t0\t18446744073709551616\n",
                                "string\t2\tother\n",
                                "string\t0\tx\n",
                                "string\tx\tx\n",
                                "string\t12\n",
                                "pid\t\n",
                                "ustack\t1\t2\n",
                                "kernel\t0x1\t1\t2\t3\t4\n",
                                "interval\t1\n",
                                "interval\t1\tinf\n",
                                "interval\t1\t-1\n",
                                "interval\t1\t1e30\n",
                                "interval_start\t18446744073709551615\n",
                                "EUSTALL\t1\n",
                                "\tx\n"}) {
    INFO(bad);
    CHECK(!read(kStrings + bad).error.empty());
    const Seen seen = read(kStrings + bad + good, true);
    CHECK(seen.bad == 1);
    CHECK(seen.samples.size() == 1);
    CHECK(seen.stacks.size() == 2);
    CHECK(seen.processes.size() == 1);
    CHECK(seen.places.size() == 1);
  }
}

TEST_CASE("ids of the tabbed form may be any 64-bit number, including 0") {
  const Seen seen =
      read("string\t18446744073709551615\tactive\ne\t18446744073709551615\tffffffffffffffff\t1\ne\t0\t0\t2\n");
  REQUIRE(seen.samples.size() == 2);
  CHECK(index(seen.samples[1].reason) == 0);
  CHECK(seen.places[0].offset == UINT64_MAX);
}

TEST_CASE("stacks of the tabbed form are limited in frames") {
  std::string frames;
  for (int i = 0; i < 65535; ++i) {
    frames += "f;";
  }
  const auto with = [&](const std::string& text) {
    return read("string\t1\t" + text + "\nstring\t2\tactive\nustack\t1\ne\t2\t0\t1\n");
  };
  CHECK(with(frames).error.empty());
  CHECK(with(frames + "f").error.empty());
  CHECK(with(frames + "f;f").error.find("more than 65536") != std::string::npos);
  CHECK(with("a;;b").stacks == std::vector<std::string>{"u:a,[unknown],b,"});
  CHECK(with("").stacks == std::vector<std::string>{"u:"});
}

TEST_CASE("truncated tabbed files are detected") {
  CHECK(read("string").cut_short);
  CHECK(read("interval_st").cut_short);
  CHECK(read(kStrings + "e\t2\t0\t1\ne\t2\t0\t1").cut_short);
  CHECK(!read(kStrings).cut_short);
  CHECK(!read("strings\t1\tx\n").error.empty());
  CHECK(!read("string theory\n").error.empty());
}
