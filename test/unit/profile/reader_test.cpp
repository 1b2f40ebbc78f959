#include "profile/reader.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "catch.h"
#include "text_input.h"

using namespace gpuprof;
using namespace gpuprof::profile;
using gpuprof::test::first_error;
using gpuprof::test::open_text;
using gpuprof::test::rewritten;

namespace {

// Holds the only record of a profile, and the reader that owns the record's strings.
struct Only {
  explicit Only(std::string_view text) : reader(open_text(text)) {
    REQUIRE(reader);
    next = std::make_unique<Result<std::optional<Record>>>(reader->next());
    INFO((*next ? std::string() : next->error().message));
    REQUIRE(*next);
    REQUIRE((**next).has_value());
  }
  template <typename T>
  const T& as() const {
    const T* record = std::get_if<T>(&***next);
    REQUIRE(record != nullptr);
    return *record;
  }
  Result<Reader> reader;
  std::unique_ptr<Result<std::optional<Record>>> next;
};

const std::string kWork = "WORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\n";

std::string error_of(const std::string& line) {
  return first_error("GPUPROF;3.0\n" + line + "\n");
}

const char* const kSmall =
    "GPUPROF;3.6\n"
    "META;command;./app\\x3b ls\n"
    "STRING;1;main\n"
    "STRING;2;app\n"
    "FRAME;1;native;1;0;0;0;0;0x10\n"
    "USTACK;1;1\n"
    "KSTACK;1;0xffffffff81000000\n"
    "PROCESS;1;10;1;5;2;0;1;2\n"
    "DEVICE;1;2;0;2;1\n"
    "RANGE;1;0;0;1\n"
    "RANGE;2;1;2;1\n"
    "WORK;1;1;11;2;1;1;1;2;1;7;kernel;1;1\n"
    "WORK;2;1;11;2;1;0;0;0;0;0;launch;1;0\n"
    "WORK;3;1;11;2;1;0;0;0;0;0;sync;1;0\n"
    "GPU;0;1;2;30;10;20;500;0;0\n"
    "HOST;0;3;1;5;5;5;0\n"
    "LAUNCH;0;2;3\n"
    "SHARE;0;1;20;20\n"
    "IDLE;0;1;3;4\n"
    "IDLE;0;1;0;4\n"
    "WINDOW;5;33\n"
    "WINDOW;40;50;12\n"
    "LATENCY;1;call_to_start;3;30;8;12;8;1;10;1;12;1\n"
    "DURATION;0;1;10;1;20;1\n"
    "BLOCKS;0;1;1;9;2;3;4;4;6;3;2;2;2;4;1;2;132;3;6;7;8;17;1;1;3;1\n"
    "EVENT;1;17;100;110;90;95;0\n"
    "CALL;1;11;1;1;17;80;120\n"
    "SPAN;1;11;2;70;130\n"
    "GPU_MODULE;1;2;1\n"
    "FRAME;2;gpu;1;2;12;2;1;0x0\n"
    "FRAME;3;interpreter;1;0;0;0;0;0x0\n"
    "GPU_PLACE;1;1;1;0x40;2;2;2\n"
    "GPU_PLACE;2;0;0;0x0;0\n"
    "GPU_COUNT;1;1;1;2;17\n"
    "SAMPLING;1;4096;2\n"
    "EUSTALL;0;1;1;2;1;7;1\n"
    "LOSS;1;ring_full;4\n"
    "COVERAGE;0;matched;2\n"
    "END;9;5;2;30;2;7;4\n";

}  // namespace

TEST_CASE("every kind of record is rewritten byte for byte") {
  CHECK(rewritten(kSmall) == kSmall);
  CHECK(first_error(kSmall).empty());
}

TEST_CASE("fields are parsed into the right members") {
  const Only gpu("GPUPROF;3.0\nGPU;1;6;2;300;100;200;340282366920938463463374607431768211455;9;11\n");
  const Gpu& r = gpu.as<Gpu>();
  CHECK(r.slice == 1);
  CHECK(index(r.work) == 6);
  CHECK(r.count == 2);
  CHECK(r.sum_ns == 300);
  CHECK(r.min_ns == 100);
  CHECK(r.max_ns == 200);
  CHECK(r.sum_squares_ns2 == ~Uint128{0});
  CHECK(r.queue_ns == 9);
  CHECK(r.bytes == 11);
  const Only work("GPUPROF;3.0\nWORK;1;2;3;4;5;6;7;8;9;10;migrate_dtoh;11;2\n");
  const Work& w = work.as<Work>();
  CHECK(index(w.id) == 1);
  CHECK(index(w.process) == 2);
  CHECK(w.tid == 3);
  CHECK(index(w.thread) == 4);
  CHECK(index(w.ustack) == 5);
  CHECK(index(w.kstack) == 6);
  CHECK(index(w.capture) == 7);
  CHECK(index(w.range) == 8);
  CHECK(index(w.device) == 9);
  CHECK(w.stream == 10);
  CHECK(w.op == Op::migrate_dtoh);
  CHECK(index(w.name) == 11);
  CHECK(w.flags == kWorkUnsampled);
  const Only event("GPUPROF;3.0\nEVENT;1;2;3;4;5;6;7\n");
  CHECK(event.as<Event>().correlation == 2);
  CHECK(event.as<Event>().end_ns == 4);
  CHECK(event.as<Event>().queued_ns == 5);
  CHECK(event.as<Event>().submitted_ns == 6);
  CHECK(event.as<Event>().bytes == 7);
  const Only latency("GPUPROF;3.0\nLATENCY;1;queued_to_submitted;3;20;0;16;0;1;16;2\n");
  CHECK(latency.as<Latency>().phase == Phase::queued_to_submitted);
  REQUIRE(latency.as<Latency>().buckets.size() == 2);
  CHECK(latency.as<Latency>().buckets[1].bucket == 16);
  CHECK(latency.as<Latency>().buckets[1].count == 2);
  const Only place("GPUPROF;3.0\nGPU_PLACE;1;2;3;64;5;6;7\n");
  CHECK(index(place.as<GpuPlace>().module) == 2);
  CHECK(index(place.as<GpuPlace>().function) == 3);
  CHECK(place.as<GpuPlace>().offset == 64);
  CHECK(index(place.as<GpuPlace>().instruction) == 5);
  REQUIRE(place.as<GpuPlace>().frames.size() == 2);
  CHECK(index(place.as<GpuPlace>().frames[1]) == 7);
  const Only counted("GPUPROF;3.5\nGPU_COUNT;1;2;3;4;5\n");
  CHECK(index(counted.as<GpuCount>().process) == 1);
  CHECK(index(counted.as<GpuCount>().device) == 2);
  CHECK(index(counted.as<GpuCount>().place) == 3);
  CHECK(index(counted.as<GpuCount>().name) == 4);
  CHECK(counted.as<GpuCount>().value == 5);
  const Only instruction("GPUPROF;3.5\nGPU_INSTRUCTION;1;2;3;4\n");
  CHECK(index(instruction.as<GpuInstruction>().place) == 1);
  CHECK(index(instruction.as<GpuInstruction>().text) == 2);
  CHECK(index(instruction.as<GpuInstruction>().waits_for) == 3);
  CHECK(index(instruction.as<GpuInstruction>().what) == 4);
  const Only sample("GPUPROF;3.0\nEUSTALL;1;2;3;4;5;18446744073709551615;1\n");
  CHECK(sample.as<EuStall>().slice == 1);
  CHECK(index(sample.as<EuStall>().work) == 2);
  CHECK(index(sample.as<EuStall>().place) == 3);
  CHECK(index(sample.as<EuStall>().reason) == 4);
  CHECK(index(sample.as<EuStall>().sampling) == 5);
  CHECK(sample.as<EuStall>().count == 18446744073709551615U);
  CHECK(sample.as<EuStall>().flags == kSampleEstimated);
}

TEST_CASE("hostile names are rewritten unchanged") {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) {
    every_byte += static_cast<char>(i);
  }
  const std::vector<std::string> names = {
      "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, std::array<char*, 3ul> >(int)",
      "@!P0 IADD3.X R5, R3, c[0x0][0x164], RZ, P0, !PT ;",
      "line one\nline two\r\n\ttab",
      "back\\slash \\x41 \\n",
      "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80",
      "bad \xff\xfe \xc3( \xed\xa0\x80 utf-8",
      ";;;",
      " leading and trailing ",
      "",
      every_byte,
      std::string(65536, 'x') + ";" + std::string(65536, '\n'),
  };
  std::string text;
  format_header(text);
  for (uint32_t i = 0; i < names.size(); ++i) {
    format_line(String{StringId{i + 1}, names[i]}, text);
  }
  for (const char c : text) {
    REQUIRE((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
  }
  auto reader = open_text(text);
  REQUIRE(reader);
  for (uint32_t i = 0; i < names.size(); ++i) {
    auto next = reader->next();
    REQUIRE(next);
    REQUIRE(next->has_value());
    const auto& string = std::get<String>(**next);
    CHECK(index(string.id) == i + 1);
    CHECK(string.value == names[i]);
  }
}

TEST_CASE("stack elements are frames, addresses or text") {
  const Only stack("GPUPROF;3.0\nUSTACK;5;17;0x7fAB;main;\\x3123\n");
  const Stack& r = stack.as<Stack>();
  CHECK_FALSE(r.kernel);
  CHECK(index(r.id) == 5);
  REQUIRE(r.elements.size() == 4);
  CHECK(index(r.elements[0].frame) == 17);
  CHECK_FALSE(r.elements[0].is_address);
  CHECK(r.elements[1].is_address);
  CHECK(r.elements[1].address == 0x7fab);
  CHECK(r.elements[2].text == "main");
  CHECK(r.elements[3].text == "123");
}

TEST_CASE("stacks of up to 65536 frames are read, deeper ones rejected") {
  std::string deep = "USTACK;1";
  for (int i = 0; i < 65536; ++i) {
    deep += ";0x1";
  }
  CHECK(error_of(deep).empty());
  CHECK(error_of(deep + ";0x1") == "p.txt:2: USTACK: the stack has more than 65536 frames");
}

TEST_CASE("an empty file is an error, as a recording that never began leaves one") {
  CHECK(first_error("") == "p.txt is empty: this is not a profile");
}

TEST_CASE("every prefix of a profile is readable") {
  const std::string whole = kSmall;
  const std::string published = "STRING;1;a;b\nUSTACK;2;main;0x12\nINSN_TEXT;1;add\n";  // one record per line
  for (const std::string& text : {whole, published}) {
    for (size_t length = 1; length <= text.size(); ++length) {
      const std::string prefix = text.substr(0, length);
      INFO(prefix);
      CHECK(first_error(prefix).empty());
      auto reader = open_text(prefix);
      REQUIRE(reader);
      size_t records = 0;
      for (;;) {
        auto next = reader->next();
        REQUIRE(next);
        if (!next->has_value()) {
          break;
        }
        ++records;
      }
      const bool at_line_end = length > 0 && prefix.back() == '\n';
      CHECK(reader->cut_short() == !at_line_end);
      const auto lines = static_cast<size_t>(std::count(prefix.begin(), prefix.end(), '\n'));
      const bool has_header = text == whole && lines > 0;
      CHECK(records == lines - (has_header ? 1 : 0));
    }
  }
}

TEST_CASE("supported format versions are read, other versions rejected") {
  CHECK(first_error("GPUPROF;3.0\n").empty());
  CHECK(first_error("GPUPROF;3.7\nFUTURE;1;2\n").empty());
  CHECK(first_error("GPUPROF;4.1\n") == "p.txt:1: the profile has format version 4.1, this gpuprof reads up to 3.6");
  CHECK(first_error("GPUPROF;999999.0\n") ==
        "p.txt:1: the profile has format version 999999.0, this gpuprof reads up to 3.6");
  for (const std::string old : {"1.0", "2.1"}) {
    const auto refused = open_text("GPUPROF;" + old + "\n");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "p.txt:1: the profile has format version " + old +
                                         ", from before the first release; this gpuprof reads version 3");
    CHECK(refused.error().hint == "record it again");
  }
  CHECK(first_error("GPUPROF;0.9\n") == "p.txt:1: there is no format version 0");
  for (const char* bad : {"GPUPROF;\n", "GPUPROF;1\n", "GPUPROF;1.\n", "GPUPROF;x.0\n", "GPUPROF;-1.0\n",
                          "GPUPROF;3.0;2\n", "GPUPROF;99999999999.0\n"}) {
    CHECK(first_error(bad) == "p.txt:1: the first line's version is not <major>.<minor>");
  }
}

TEST_CASE("unknown kinds are skipped and counted") {
  auto reader = open_text("GPUPROF;3.5\nNEW_KIND;1;x\nNEW2\nSTRING;1;a\n");
  REQUIRE(reader);
  for (;;) {
    auto next = reader->next();
    REQUIRE(next);
    if (!next->has_value()) {
      break;
    }
  }
  CHECK(reader->skipped_unknown() == 2);
  CHECK_FALSE(reader->is_published_form());
}

TEST_CASE("a file that is not a profile is rejected") {
  const std::string not_a_profile =
      "p.txt:1: this is not a profile: its first line is neither GPUPROF;<version> nor a known record";
  CHECK(first_error("hello\n") == not_a_profile);
  CHECK(first_error("hello") == not_a_profile);
  CHECK(first_error("\n") == not_a_profile);
  CHECK(first_error(std::string("\x7f"
                                "ELF\0\0\0\0\x02\x01",
                                10)) == not_a_profile);
  CHECK(first_error(std::string(1000, '\0')) == not_a_profile);
  CHECK(first_error(std::string(3000000, 'A')) == not_a_profile);
  CHECK(first_error("META;a;b\n") == not_a_profile);  // a profile that lost its first line
  const auto bzip = open_text("BZh91AY ...");
  REQUIRE_FALSE(bzip);
  CHECK(bzip.error().message == "p.txt:1: this is a compressed file, not a profile");
  CHECK(bzip.error().hint == "unpack it first: bzcat FILE | gpuprof flame");
  const auto gzip = open_text("\x1f\x8b\x08\x01\x02\x03");
  REQUIRE_FALSE(gzip);
  CHECK(gzip.error().message == "cannot read p.txt: its gzip data is cut short");
}

TEST_CASE("errors name the line, the field and the reason") {
  CHECK(error_of("STRING;x;a") == "p.txt:2: STRING: field 'id' is not a number");
  CHECK(error_of("STRING;-1;a") == "p.txt:2: STRING: field 'id' is negative");
  CHECK(error_of("STRING;0;a") == "p.txt:2: STRING: field 'id' is 0, but ids begin at 1");
  CHECK(error_of("STRING;4294967296;a") == "p.txt:2: STRING: field 'id' is too large");
  CHECK(error_of("STRING;;a") == "p.txt:2: STRING: field 'id' is empty");
  CHECK(error_of("STRING;1") == "p.txt:2: STRING: field 'value' is missing");
  CHECK(error_of("STRING") == "p.txt:2: STRING: field 'id' is missing");
  CHECK(error_of("STRING;1;a;b") == "p.txt:2: STRING: there are more fields than this kind of record has");
  CHECK(error_of("STRING;1;a\\q") ==
        "p.txt:2: STRING: field 'value' has a bad escape: a backslash must be followed by xHH (two hex digits)");
  CHECK(error_of("STRING;1;a\\x4") ==
        "p.txt:2: STRING: field 'value' has a bad escape: a backslash must be followed by xHH (two hex digits)");
  CHECK(error_of(std::string("STRING;1;a\0b", 12)) ==
        "p.txt:2: STRING: field 'value' holds a control byte that is not escaped");
  CHECK(error_of("END;1;2;3;18446744073709551616;5;6;7") == "p.txt:2: END: field 'gpu_ns' is too large");
  CHECK(error_of("END;1;2;3;99999999999999999999999;5;6;7") == "p.txt:2: END: field 'gpu_ns' is too large");
  CHECK(error_of("END;1;2;3;18446744073709551615;5;6;7").empty());
  CHECK(error_of("END;1;2;3; 4;5;6;7") == "p.txt:2: END: field 'gpu_ns' is not a number");
  CHECK(error_of("END;1;2;3;+4;5;6;7") == "p.txt:2: END: field 'gpu_ns' is not a number");
  CHECK(error_of("LOSS;0;ring_full;1.5") == "p.txt:2: LOSS: field 'count' is not a number");
  CHECK(error_of("FRAME;1;weird;0;0;0;0;0;0") == "p.txt:2: FRAME: field 'kind' is not a kind of frame");
  CHECK(error_of("FRAME;1;native;0;0;0;0;0;0x10000000000000000") == "p.txt:2: FRAME: field 'address' is too large");
  CHECK(error_of("FRAME;1;native;0;0;0;0;0;0x") == "p.txt:2: FRAME: field 'address' is not a number");
  CHECK(error_of("WORK;1;0;0;0;0;0;0;0;0;0;walk;0;0") == "p.txt:2: WORK: field 'op' is not an operation");
  CHECK(error_of("WORK;1;0;0;0;0;0;0;0;0;0;fill;0;8") == "p.txt:2: WORK: field 'flags' is not a sum of known flags");
  CHECK(error_of("WORK;0;0;0;0;0;0;0;0;0;0;fill;0;0") == "p.txt:2: WORK: field 'id' is 0, but ids begin at 1");
  CHECK(error_of("WORK;1;0;4294967296;0;0;0;0;0;0;0;fill;0;0") == "p.txt:2: WORK: field 'tid' is too large");
  CHECK(error_of("GPU;0;1;1;1;1;1;340282366920938463463374607431768211456;0;0") ==
        "p.txt:2: GPU: field 'sum_squares_ns2' is too large");
  CHECK(error_of("PROCESS;1;1;1;1;0;0") == "p.txt:2: PROCESS: field 'rank' is missing");
  CHECK(error_of("DEVICE;1;0;0;0") == "p.txt:2: DEVICE: field 'uuid' is missing");
  CHECK(error_of("WINDOW;1;2;0") == "p.txt:2: WINDOW: field 'weight' is 0");
  CHECK(error_of("WINDOW;1;2;3;4") != "");
  CHECK(error_of("WINDOW;2;1") == "p.txt:2: WINDOW: field 'end_ns' is before start_ns");
  CHECK(error_of("EVENT;1;1;2;1;0;0;0") == "p.txt:2: EVENT: field 'end_ns' is before start_ns");
  CHECK(error_of("CALL;0;1;0;0;1;2;1") == "p.txt:2: CALL: field 'end_ns' is before start_ns");
  CHECK(error_of("SPAN;0;1;0;2;1") == "p.txt:2: SPAN: field 'end_ns' is before start_ns");
  CHECK(error_of("EUSTALL;0;1;0;0;0;1;2") == "p.txt:2: EUSTALL: field 'flags' is not a sum of known flags");
  CHECK(error_of("EUSTALL;0;1;0;0;0;1") == "p.txt:2: EUSTALL: field 'flags' is missing");
  CHECK(error_of("GPU_PLACE;0;0;0;0;0") == "p.txt:2: GPU_PLACE: field 'id' is 0, but ids begin at 1");
  CHECK(error_of("GPU_PLACE;1;0;0;0x;0") == "p.txt:2: GPU_PLACE: field 'offset' is not a number");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0;") == "p.txt:2: GPU_PLACE: field 'frame' is empty");
  CHECK(error_of("USTACK;1;;2") == "p.txt:2: USTACK: field 'frame' is empty");
  CHECK(error_of("USTACK;1;0xzz") == "p.txt:2: USTACK: field 'frame' is not a number");
  CHECK(error_of("some words") == "p.txt:2: this is not a record: a line begins with its kind, in upper case");
}

TEST_CASE("impossible sums are rejected") {
  const std::string gpu = "p.txt:2: GPU: field 'sum_ns' is not between count * min_ns and count * max_ns";
  CHECK(error_of("GPU;0;1;2;19;10;20;0;0;0") == gpu);
  CHECK(error_of("GPU;0;1;2;41;10;20;0;0;0") == gpu);
  CHECK(error_of("GPU;0;1;0;1;0;20;0;0;0") == gpu);
  CHECK(error_of(kWork + "GPU;0;1;2;30;10;20;0;0;0").empty());
  const std::string host = "p.txt:2: HOST: min_ns <= max_ns <= sum_ns does not hold";
  CHECK(error_of("HOST;0;1;1;5;6;5;0") == host);
  CHECK(error_of("HOST;0;1;1;5;5;6;0") == host);
  CHECK(error_of("WORK;1;0;0;0;0;0;0;0;0;0;fault_gpu;0;0\nHOST;0;1;100;5;5;5;0").empty());
}

TEST_CASE("durations in buckets that are empty, out of order or do not exist are rejected") {
  const auto duration = [](const std::string& buckets) { return error_of(kWork + "DURATION;0;1" + buckets); };
  const std::string wrong = "p.txt:3: DURATION: field 'bucket' is out of order, does not exist or is empty";
  CHECK(duration("").empty());
  CHECK(duration(";0;1;64;2;3775;18446744073709551615").empty());
  CHECK(duration(";64;2;64;1") == wrong);
  CHECK(duration(";64;2;63;1") == wrong);
  CHECK(duration(";64;0") == wrong);
  CHECK(duration(";3776;1") == wrong);
  CHECK(duration(";64") == "p.txt:3: DURATION: field 'bucket's count' is missing");
}

TEST_CASE("thread blocks whose numbers contradict each other are rejected") {
  // slice, work, launches, grid, blocks, span, sum, busy, sm, busiest, mean, tail, tail_busy, tail_sm, saved,
  // concurrent, device_sms, slowest, x, y, z, correlation, buckets
  const std::vector<uint64_t> good = {0,  1,   1,  20, 10, 100, 400, 300, 400, 90, 75, 50,
                                      40, 200, 40, 4,  0,  60,  1,   2,   3,   7,  60, 10};
  const auto error_with = [&](size_t field, uint64_t value) {
    std::vector<uint64_t> fields = good;
    fields.at(field) = value;
    std::string text = kWork + "BLOCKS";
    for (const uint64_t one : fields) {
      text += ";" + std::to_string(one);
    }
    return error_of(text);
  };
  CHECK(error_with(0, 0).empty());
  const std::pair<size_t, uint64_t> wrong[] = {{2, 0},   {3, 9},    {5, 89},  {6, 299},  {7, 401}, {8, 299},
                                               {9, 101}, {9, 74},   {10, 91}, {11, 101}, {11, 39}, {12, 201},
                                               {13, 39}, {13, 401}, {14, 51}, {15, 11},  {17, 101}};
  for (const auto& [field, value] : wrong) {
    CAPTURE(field);
    CHECK(error_with(field, value) == "p.txt:3: BLOCKS: the numbers contradict each other");
  }
  CHECK(error_with(23, 11) == "p.txt:3: BLOCKS: the buckets hold more values than 'blocks'");
  CHECK(error_with(23, 9).empty());
  const std::string order = "p.txt:3: BLOCKS: field 'bucket' is out of order, does not exist or is empty";
  CHECK(error_with(23, 0) == order);
  CHECK(error_with(22, 3776) == order);
}

TEST_CASE("histograms whose buckets contradict their sums are rejected") {
  const auto latency = [](const std::string& fields) { return error_of(kWork + "LATENCY;1;call_to_start;" + fields); };
  CHECK(latency("0;0;0;0").empty());
  CHECK(latency("2;30;10;20;10;1;18;1").empty());
  CHECK(latency("1;18446744073709551615;18446744073709551615;18446744073709551615;495;1").empty());
  CHECK(latency("2;30;10;20;10;1") == "p.txt:3: LATENCY: the buckets hold fewer values than 'count'");
  CHECK(latency("2;30;10;20;10;2;18;1") == "p.txt:3: LATENCY: the buckets hold more values than 'count'");
  CHECK(latency("2;30;10;20;10;18446744073709551615;18;3") ==
        "p.txt:3: LATENCY: the buckets hold more values than 'count'");
  CHECK(latency("2;30;10;20;9;2") == "p.txt:3: LATENCY: field 'bucket' does not lie between min_ns and max_ns");
  CHECK(latency("2;30;10;20;19;2") == "p.txt:3: LATENCY: field 'bucket' does not lie between min_ns and max_ns");
  CHECK(latency("2;30;10;20;4294967296;2") == "p.txt:3: LATENCY: field 'bucket' is too large");
  CHECK(latency("2;50;10;20;10;2") ==
        "p.txt:3: LATENCY: field 'sum_ns' is not between count * min_ns and count * max_ns");
  CHECK(latency("2;30;10;20;10") == "p.txt:3: LATENCY: field 'bucket's count' is missing");
  CHECK(error_of("LATENCY;1;sometime;0;0;0;0") == "p.txt:2: LATENCY: field 'phase' is not a phase of a launch");
  std::string long_list = "496;496;1;1";
  for (int i = 0; i < 496; ++i) {
    long_list += ";1;1";
  }
  CHECK(latency(long_list).empty());
  CHECK(latency(long_list + ";1;0") == "p.txt:3: LATENCY: there are more buckets than exist");
}

TEST_CASE("undefined and contradictory ids are rejected") {
  CHECK(error_of("PROCESS;1;1;1;1;5;0;0;0") == "p.txt:2: STRING 5 is not defined");
  CHECK(error_of("PROCESS;1;1;1;1;0;0;5;0") == "p.txt:2: STRING 5 is not defined");
  CHECK(error_of("PROCESS;1;1;1;1;0;0;0;5") == "p.txt:2: STRING 5 is not defined");
  CHECK(error_of("DEVICE;1;0;0;0;5") == "p.txt:2: STRING 5 is not defined");
  CHECK(error_of("USTACK;1;5") == "p.txt:2: FRAME 5 is not defined");
  CHECK(error_of("USTACK;1;0") == "p.txt:2: FRAME 0 is not defined");
  CHECK(error_of("WORK;1;3;0;0;0;0;0;0;0;0;fill;0;0") == "p.txt:2: PROCESS 3 is not defined");
  CHECK(error_of("WORK;1;0;0;3;0;0;0;0;0;0;fill;0;0") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("WORK;1;0;0;0;3;0;0;0;0;0;fill;0;0") == "p.txt:2: USTACK 3 is not defined");
  CHECK(error_of("WORK;1;0;0;0;0;3;0;0;0;0;fill;0;0") == "p.txt:2: KSTACK 3 is not defined");
  CHECK(error_of("KSTACK;3\nWORK;1;0;0;0;0;0;3;0;0;0;fill;0;0") == "p.txt:3: USTACK 3 is not defined");
  CHECK(error_of("WORK;1;0;0;0;0;0;0;3;0;0;fill;0;0") == "p.txt:2: RANGE 3 is not defined");
  CHECK(error_of("WORK;1;0;0;0;0;0;0;0;3;0;fill;0;0") == "p.txt:2: DEVICE 3 is not defined");
  CHECK(error_of("WORK;1;0;0;0;0;0;0;0;0;0;fill;3;0") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of(kWork + "WORK;1;0;0;0;0;0;0;0;0;0;kernel;0;1") ==
        "p.txt:3: WORK 1 is already defined, with another value");
  CHECK(error_of(kWork + kWork + "GPU;0;1;1;1;1;1;1;0;0").empty());
  CHECK(error_of("RANGE;1;1;0;0") == "p.txt:2: RANGE 1 is not defined");
  CHECK(error_of("RANGE;1;0;0;5") == "p.txt:2: STRING 5 is not defined");
  CHECK(error_of("RANGE;1;0;0;0\nRANGE;2;1;0;0\nRANGE;2;0;0;0") ==
        "p.txt:4: RANGE 2 is already defined, with another value");
  for (const char* rest : {"GPU;0;%;1;1;1;1;1;0;0", "HOST;0;%;1;1;1;1;0", "LAUNCH;0;%;1", "SHARE;0;%;1;1",
                           "LATENCY;%;call_to_start;0;0;0;0", "EVENT;%;1;1;1;0;0;0"}) {
    for (const std::string id : {"0", "9", "4294967295"}) {
      std::string line = rest;
      line.replace(line.find('%'), 1, id);
      CHECK(error_of(line) == "p.txt:2: WORK " + id + " is not defined");
    }
  }
  CHECK(error_of("IDLE;0;0;0;1") == "p.txt:2: DEVICE 0 is not defined");
  CHECK(error_of("DEVICE;1;0;0;0;0\nIDLE;0;1;9;1") == "p.txt:3: WORK 9 is not defined");
  CHECK(error_of("DEVICE;1;0;0;0;0\nIDLE;0;1;0;1").empty());
  CHECK(error_of("CALL;9;1;0;0;1;1;1") == "p.txt:2: PROCESS 9 is not defined");
  CHECK(error_of("CALL;0;1;9;0;1;1;1") == "p.txt:2: USTACK 9 is not defined");
  CHECK(error_of("CALL;0;1;0;9;1;1;1") == "p.txt:2: STRING 9 is not defined");
  CHECK(error_of("SPAN;9;1;0;1;1") == "p.txt:2: PROCESS 9 is not defined");
  CHECK(error_of("SPAN;0;1;9;1;1") == "p.txt:2: RANGE 9 is not defined");
  CHECK(error_of("COVERAGE;9;matched;1") == "p.txt:2: PROCESS 9 is not defined");
  CHECK(error_of("GPU_MODULE;1;3;0") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("GPU_MODULE;1;0;3") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("GPU_INSTRUCTION;1;0;0;0") == "p.txt:2: GPU_PLACE 1 is not defined");
  CHECK(error_of("GPU_INSTRUCTION;0;0;0;0") == "p.txt:2: GPU_PLACE 0 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_INSTRUCTION;1;0;7;0") == "p.txt:3: GPU_PLACE 7 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_INSTRUCTION;1;0;0;7") == "p.txt:3: STRING 7 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_INSTRUCTION;1;0;1;0\nGPU_INSTRUCTION;1;0;0;0") ==
        "p.txt:4: GPU_INSTRUCTION 1 is already defined, with another value");
  CHECK(error_of("GPU_COUNT;0;0;1;0;1") == "p.txt:2: GPU_PLACE 1 is not defined");
  CHECK(error_of("GPU_COUNT;0;0;0;0;1") == "p.txt:2: GPU_PLACE 0 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_COUNT;7;0;1;0;1") == "p.txt:3: PROCESS 7 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_COUNT;0;7;1;0;1") == "p.txt:3: DEVICE 7 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_COUNT;0;0;1;7;1") == "p.txt:3: STRING 7 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_COUNT;0;0;1;0;1\nGPU_COUNT;0;0;1;0;18446744073709551615") ==
        "p.txt:4: the sum of the counts of GPU_PLACE 1 does not fit into 64 bits");
  CHECK(error_of("GPU_PLACE;1;3;0;0;0") == "p.txt:2: GPU_MODULE 3 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;3;0;0") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;3") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0;3") == "p.txt:2: FRAME 3 is not defined");
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_PLACE;1;0;0;0;0").empty());
  CHECK(error_of("GPU_PLACE;1;0;0;0;0\nGPU_PLACE;1;0;0;8;0") ==
        "p.txt:3: GPU_PLACE 1 is already defined, with another value");
  CHECK(error_of("FRAME;1;gpu;0;0;0;0;0;0\nGPU_PLACE;1;0;0;0;0\nGPU_PLACE;1;0;0;0;0;1") ==
        "p.txt:4: GPU_PLACE 1 is already defined, with another value");
  CHECK(error_of("SAMPLING;1;5;3") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("EUSTALL;0;3;0;0;0;1;0") == "p.txt:2: WORK 3 is not defined");
  CHECK(error_of("EUSTALL;0;1;3;0;0;1;0") == "p.txt:2: GPU_PLACE 3 is not defined");
  CHECK(error_of("EUSTALL;0;1;0;3;0;1;0") == "p.txt:2: STRING 3 is not defined");
  CHECK(error_of("EUSTALL;0;1;0;0;3;1;0") == "p.txt:2: SAMPLING 3 is not defined");
  CHECK(error_of(kWork + "EUSTALL;0;1;0;0;0;1;0").empty());
  CHECK(error_of("STRING;1;a\nSTRING;1;b") == "p.txt:3: STRING 1 is already defined, with another value");
  CHECK(error_of("STRING;1;a\nSTRING;1;a").empty());
  CHECK(error_of("USTACK;1;0x1\nUSTACK;1;0x2") == "p.txt:3: USTACK 1 is already defined, with another value");
  CHECK(error_of("USTACK;1;0x1\nKSTACK;1;0x2").empty());
  CHECK(error_of("STRING;4294967295;far\nPROCESS;4000000000;1;1;1;4294967295;0;0;0").empty());
}

TEST_CASE("a record refers to work of its own kind") {
  const auto work = [](const char* op) { return "WORK;1;0;0;0;0;0;0;0;0;0;" + std::string(op) + ";0;0\n"; };
  const std::string gpu = "GPU;0;1;1;1;1;1;1;0;0";
  for (const char* op : {"kernel", "copy_htod", "fill", "other", "graph"}) {
    CHECK(error_of(work(op) + gpu).empty());
    CHECK(error_of(work(op) + "HOST;0;1;1;1;1;1;0") ==
          "p.txt:3: HOST: WORK 1 has the operation '" + std::string(op) + "', which does not fit this kind of record");
    CHECK_FALSE(error_of(work(op) + "LAUNCH;0;1;1").empty());
  }
  for (const char* op : {"sync", "alloc", "free", "fault_gpu", "fault_cpu", "migrate_htod", "migrate_dtoh"}) {
    CHECK(error_of(work(op) + "HOST;0;1;1;1;1;1;0").empty());
    CHECK(error_of(work(op) + "EVENT;1;1;1;1;0;0;0").empty());
    for (const std::string& line :
         {gpu, std::string("LAUNCH;0;1;1"), std::string("SHARE;0;1;1;1"), std::string("EUSTALL;0;1;0;0;0;1;0"),
          std::string("LATENCY;1;call_to_start;0;0;0;0")}) {
      CHECK_FALSE(error_of(work(op) + line).empty());
    }
  }
  CHECK(error_of(work("launch") + "LAUNCH;0;1;1").empty());
  CHECK_FALSE(error_of(work("launch") + gpu).empty());
}

TEST_CASE("ranges may be nested up to 1024 deep") {
  std::string text = "RANGE;1;0;0;0\n";
  for (int i = 2; i <= 1024; ++i) {
    text += "RANGE;" + std::to_string(i) + ";" + std::to_string(i - 1) + ";0;0\n";
  }
  CHECK(error_of(text).empty());
  CHECK(error_of(text + "RANGE;9999;1024;0;0") == "p.txt:1026: RANGE 9999 is nested deeper than 1024");
  CHECK(error_of(text + "RANGE;9999;1023;0;0").empty());
}

TEST_CASE("lenient reading skips bad lines and counts them") {
  auto reader = open_text("GPUPROF;3.0\nSTRING;x;a\nwords\nSTRING;1;good\n", true);
  REQUIRE(reader);
  auto next = reader->next();
  REQUIRE(next);
  REQUIRE(next->has_value());
  CHECK(std::get<String>(**next).value == "good");
  CHECK(reader->line() == 4);
  CHECK(reader->skipped_bad() == 2);
}

TEST_CASE("CRLF line ends and empty lines are accepted") {
  CHECK(first_error("GPUPROF;3.0\r\nSTRING;1;a\r\n\r\n\nPROCESS;1;1;1;1;1;0;0;0\r\n").empty());
  const Only string("GPUPROF;3.0\r\nSTRING;1;a\r\n");
  CHECK(string.as<String>().value == "a");
}

TEST_CASE("lines longer than the buffer are read through a pipe in small pieces") {
  const std::string name(5000000, 'n');
  const std::string text = "GPUPROF;3.0\nSTRING;1;" + name + "\nSTRING;2;after\n";
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  std::thread writer([&text, out = ends[1]] {
    for (size_t at = 0; at < text.size(); at += 7919) {
      const size_t n = std::min<size_t>(7919, text.size() - at);
      if (::write(out, text.data() + at, n) < 0) {
        break;
      }
    }
    ::close(out);
  });
  auto reader = Reader::open(UniqueFd(ends[0]), "pipe");
  REQUIRE(reader);
  auto next = reader->next();
  REQUIRE(next);
  CHECK(std::get<String>(**next).value == name);
  next = reader->next();
  REQUIRE(next);
  CHECK(std::get<String>(**next).value == "after");
  writer.join();
}

TEST_CASE("a line without an end is rejected before it exhausts memory") {
  const std::string text = "GPUPROF;3.0\nSTRING;1;" + std::string(size_t{66} << 20U, 'x');
  CHECK(first_error(text) == "p.txt:2: the line is longer than 64 MiB");
}

TEST_CASE("a line may have up to 64 MiB without its line end") {
  // Preceding lines of different lengths put the long line at different positions in the buffer.
  for (const size_t before : {1U, 100'000U, 1'000'000U}) {
    std::string text = "GPUPROF;3.0\nSTRING;1;" + std::string(before, 'y') + "\n";
    const size_t begin = text.size();
    text += "STRING;2;";
    text.resize(begin + (size_t{64} << 20U), 'x');
    CHECK(first_error(text + "\n").empty());
    CHECK(first_error(text + "\r\n").empty());
    CHECK(first_error(text + "x\n") == "p.txt:3: the line is longer than 64 MiB");
  }
}

TEST_CASE("an unreadable descriptor is an error") {
  const auto reader = Reader::open(UniqueFd(::open("/tmp", O_RDONLY | O_CLOEXEC)), "folder");
  REQUIRE_FALSE(reader);
  CHECK(reader.error().message == "cannot read folder: Is a directory");
}
