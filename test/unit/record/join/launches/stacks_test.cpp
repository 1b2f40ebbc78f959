
#include <unistd.h>

#include <map>
#include <string>

#include "catch.h"
#include "join_rig.h"
#include "record/process/code/code_table.h"
#include "record/summary.h"

using gpuprof::backend::PythonCode;
using gpuprof::record::Batch;
using gpuprof::record::CodeIds;
using gpuprof::record::CodeTable;
using gpuprof::record::NewCode;
using gpuprof::record::NewStack;
using gpuprof::record::Redefinition;
using gpuprof::test::coverage;
using gpuprof::test::kPid;
using gpuprof::test::kStack;
using gpuprof::test::Rig;

namespace {

struct InProcess : Rig {
  explicit InProcess(gpuprof::record::JoinOptions options = {.stacks_from_sources = true}) : Rig(std::move(options)) {}

  void walked(uint32_t source, uint64_t id, std::span<const uint64_t> words, uint32_t flags = 0) {
    correlator.on_stack(source, {.id = id, .words = words, .flags = flags});
  }
  void launched(uint32_t source, uint64_t correlation, uint64_t stack) {
    correlator.on_launch(source,
                         {.correlation = correlation, .stack = stack, .time_ns = 5000, .tid = 5, .thread = "t"});
  }
  void code(uint32_t source, uint32_t id, std::string_view name) {
    correlator.on_code(source,
                       PythonCode{.id = id, .version = 0x030b0000, .first_line = 3, .name = name, .file = "a.py"});
  }
  void kernel_of(uint32_t source, uint64_t correlation) {
    auto op = Rig::kernel(correlation);
    op.source = source;
    correlator.on_gpu_op(op);
  }
};

const NewCode* code_address_of(const Batch& batch, uint64_t word) {
  for (const NewCode& code : batch.codes) {
    if (code.index == GPUPROF_WORD_PYTHON_CODE(word)) {
      return &code;
    }
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a launch and the stack from its source are joined in either order") {
  InProcess rig;
  rig.launched(1, 1, 42);
  rig.kernel_of(1, 1);  // pending, as the stack is in another ring
  CHECK(rig.take().rows.empty());
  rig.walked(1, 42, kStack);
  rig.iterate(1);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  REQUIRE(batch.stacks.size() == 1);
  CHECK(batch.stacks[0].words == std::vector<uint64_t>{0x1000, 0x2000});
  CHECK(rig.work(batch).stack == batch.stacks[0].stack);
  CHECK(rig.work(batch).stack != 0);
  rig.walked(1, 42, kStack);  // a source may send a stack twice
  rig.launched(1, 2, 42);
  rig.kernel_of(1, 2);
  const Batch again = rig.take();
  CHECK(again.stacks.empty());
  CHECK(rig.work(again).stack == batch.stacks[0].stack);
}

TEST_CASE("a stack that never arrives does not delay work forever") {
  InProcess rig;
  rig.launched(1, 1, 42);
  rig.kernel_of(1, 1);
  rig.iterate(100);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 0);
}

TEST_CASE("next to a stack engine, only sources that walk their own stacks are used") {
  InProcess rig(gpuprof::record::JoinOptions{});
  rig.open(2);
  rig.correlator.on_traits(2, {.walks_stacks = true});
  const uint64_t words[] = {0x1000, GPUPROF_WORD_OF_PYTHON(7u, 10u), 0x2000 | GPUPROF_WORD_EVAL};
  for (const uint32_t source : {1u, 2u}) {
    rig.launched(source, 1, 42);
    rig.kernel_of(source, 1);
    rig.walked(source, 42, words);
    rig.code(source, 7, "of_" + std::to_string(source));
  }
  rig.stack(77);
  rig.launch(2, 77);  // the engine reports this launch for source 1
  rig.kernel_of(1, 2);
  rig.iterate(1);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 3);
  REQUIRE(batch.stacks.size() == 2);
  std::map<size_t, const NewStack*> by_length;
  for (const NewStack& stack : batch.stacks) {
    by_length[stack.words.size()] = &stack;
  }
  REQUIRE(by_length.contains(3));
  REQUIRE(by_length.contains(2));
  const NewCode* code = code_address_of(batch, by_length[3]->words[1]);
  REQUIRE(code != nullptr);
  CHECK(code->name == "of_2");
  CHECK(batch.codes.size() == 1);
  CHECK(rig.correlator.totals().with_stack == 2);
  // Only the engine's stack 77 is reported as ended. Stacks that a source has sent itself are not.
  rig.correlator.on_source_end(2);
  rig.correlator.on_source_end(1);
  CHECK(rig.correlator.take_ended_stacks() == std::vector<uint64_t>{77});
}

TEST_CASE("kernel frames belong to the stack of a source") {
  InProcess rig(gpuprof::record::JoinOptions{});
  rig.correlator.on_traits(1, {.walks_stacks = true});
  rig.launched(1, 1, 42);
  rig.kernel_of(1, 1);
  const uint64_t kernel[] = {0xffffffff81000100, 0xffffffff81000200};
  rig.correlator.on_stack(1, {.id = 42, .words = kStack, .flags = 0, .modules = {}, .kernel = kernel, .read_ns = 1});
  rig.iterate(1);
  const Batch batch = rig.take();
  REQUIRE(batch.stacks.size() == 1);
  CHECK(batch.stacks[0].kernel == std::vector<uint64_t>(std::begin(kernel), std::end(kernel)));
  CHECK(batch.stacks[0].words.size() == std::size(kStack));
}

TEST_CASE("mappings of a source that walks by tables are read again, even if they are unchanged") {
  InProcess rig(gpuprof::record::JoinOptions{});
  rig.correlator.take_process_events();
  rig.correlator.on_traits(1, {.walks_stacks = true});
  rig.correlator.on_mappings(1);
  const auto told = [&] {
    rig.iterate(1);
    return !rig.correlator.take_process_events().empty();
  };
  bool again = false;
  for (int turn = 0; turn < 1000 && !again; ++turn) {  // on_mappings() leads to an event after 20 ms or more
    ::usleep(1000);
    again = told();
  }
  CHECK(again);
}

TEST_CASE("if stacks are not wanted, stacks of a source that walks them are ignored") {
  InProcess rig(gpuprof::record::JoinOptions{.stacks_wanted = false});
  rig.correlator.on_traits(1, {.walks_stacks = true});
  rig.launched(1, 1, 42);
  rig.walked(1, 42, kStack);
  rig.kernel_of(1, 1);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 0);
  CHECK(batch.stacks.empty());
}

TEST_CASE("two sources of one process have separate stacks and code objects") {
  InProcess rig;
  rig.open(2);
  const uint64_t words[] = {0x1000, GPUPROF_WORD_OF_PYTHON(7u, 10u), 0x2000 | GPUPROF_WORD_EVAL};
  rig.code(1, 7, "of_one");
  rig.code(2, 7, "of_two");
  rig.walked(1, 42, words);
  rig.walked(2, 42, words);
  for (const uint32_t source : {1u, 2u}) {
    rig.launched(source, 1, 42);
    rig.kernel_of(source, 1);
  }
  const Batch batch = rig.take();
  REQUIRE(batch.stacks.size() == 2);
  CHECK(batch.stacks[0].stack != batch.stacks[1].stack);
  std::map<std::string, int> names;
  for (const NewStack& stack : batch.stacks) {
    const NewCode* code = code_address_of(batch, stack.words[1]);
    REQUIRE(code != nullptr);
    ++names[code->name];
    CHECK(GPUPROF_WORD_PYTHON_OFFSET(stack.words[1]) == 10);
    CHECK(stack.words[2] == (0x2000 | GPUPROF_WORD_EVAL));
  }
  CHECK(names == std::map<std::string, int>{{"of_one", 1}, {"of_two", 1}});
}

TEST_CASE("a source cannot refer to a stack of another source") {
  InProcess rig;
  rig.open(2);
  rig.walked(1, 42, kStack);
  rig.launched(2, 1, 42);
  rig.kernel_of(2, 1);
  rig.iterate(100);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 0);
  CHECK(batch.stacks.empty());
}

TEST_CASE("with a stack engine the stacks of sources are ignored, and vice versa") {
  Rig rig;
  rig.correlator.on_stack(1, {.id = 42, .words = kStack, .flags = 0});
  rig.correlator.on_launch(1, {.correlation = 1, .stack = 42, .time_ns = 5000, .tid = 5, .thread = "t"});
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.iterate(1);
  Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 0);

  InProcess other;
  other.stack(77);
  other.launch(1, 77);
  other.kernel_of(1, 1);
  other.iterate(100);
  batch = other.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.stacks.empty());
}

TEST_CASE("a stack waits for its code objects, and the first definition of each is used") {
  InProcess rig;
  const uint64_t words[] = {0x1000, GPUPROF_WORD_OF_PYTHON(7u, 10u), 0x2000 | GPUPROF_WORD_EVAL};
  rig.launched(1, 1, 42);
  rig.walked(1, 42, words);
  rig.kernel_of(1, 1);
  rig.iterate(1);
  CHECK(rig.take().rows.empty());
  rig.code(1, 7, "f");
  rig.code(1, 7, "another");
  rig.iterate(1);
  const Batch batch = rig.take();
  REQUIRE(batch.stacks.size() == 1);
  REQUIRE(batch.codes.size() == 1);
  CHECK(batch.codes[0].name == "f");
  CHECK(code_address_of(batch, batch.stacks[0].words[1]) != nullptr);
}

TEST_CASE("code objects of a stack engine belong to a process and may be redefined") {
  Rig rig;
  const uint64_t words[] = {0x1000, GPUPROF_WORD_OF_PYTHON(7u, 10u)};
  gpuprof::record::StackSink& engine = rig.correlator;
  engine.on_process_code(kPid, PythonCode{.id = 7, .name = "old"});
  rig.correlator.on_stack(1, kPid, words, 0, 0);
  engine.on_process_code(kPid, PythonCode{.id = 7, .name = "new"});
  rig.correlator.on_stack(2, kPid, words, 0, 0);
  rig.launch(1, 1);
  rig.launch(2, 2);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.correlator.on_gpu_op(Rig::kernel(2));
  const Batch batch = rig.take();
  REQUIRE(batch.stacks.size() == 2);
  CHECK(code_address_of(batch, batch.stacks[0].words[1])->name == "old");
  CHECK(code_address_of(batch, batch.stacks[1].words[1])->name == "new");
}

TEST_CASE("complete, truncated and Python-less stacks are counted by launch, with their depths") {
  InProcess rig;
  const uint64_t deep[] = {0x1000, GPUPROF_WORD_OF_PYTHON(7u, 0u), GPUPROF_WORD_OF_PYTHON(7u, 4u), 0x2000, 0x3000};
  rig.walked(1, 1, kStack, GPUPROF_STACK_NO_PYTHON);
  rig.walked(1, 2, deep);
  rig.walked(1, 3, kStack, GPUPROF_STACK_TRUNCATED);
  rig.launched(1, 1, 1);
  rig.launched(1, 2, 2);
  rig.launched(1, 3, 2);
  rig.launched(1, 4, 3);
  rig.launched(1, GPUPROF_CORRELATION_HOST | 5, 3);  // this id is that of a host call, not of a launch
  rig.launched(1, 6, 99);                            // its stack never arrives
  rig.correlator.finish();
  auto words = coverage(rig.take());
  CHECK(words["stack_whole"] == 3);
  CHECK(words["stack_truncated"] == 1);
  CHECK(words["stack_no_python"] == 1);
  CHECK(rig.correlator.counters().native_depths().max() == 3);
  CHECK(rig.correlator.counters().native_depths().median() == 2);
  CHECK(rig.correlator.counters().python_depths().max() == 2);
  CHECK(rig.correlator.counters().python_depths().median() == 2);
}

TEST_CASE("a frame-pointer walk has no completeness counters") {
  Rig rig({.frame_pointers = true});
  rig.stack(77);
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  const Batch batch = rig.take();
  REQUIRE(batch.stacks.size() == 1);
  CHECK(batch.stacks[0].frame_pointers);
  rig.correlator.finish();
  CHECK(coverage(rig.take()).count("stack_whole") == 0);
}

TEST_CASE("a stack engine gets events about processes, their Python, and their end") {
  using What = gpuprof::record::ProcessEvent::What;
  Rig rig;
  gpuprof_python_layout layout{};
  layout.version = 0x030c0000;
  layout.eval_begin = 0x5000;
  rig.correlator.on_python(1, layout);
  rig.correlator.on_source_end(1);
  const auto events = rig.correlator.take_process_events();
  REQUIRE(events.size() == 3);
  CHECK(events[0].what == What::mapped);
  CHECK(events[0].maps->pid() == kPid);
  CHECK(events[1].what == What::python);
  CHECK(events[1].layout.version == 0x030c0000);
  CHECK(events[2].what == What::ended);
  CHECK(rig.correlator.take_process_events().empty());
}

TEST_CASE("only a source's own, changed Python layouts become events, up to a limit") {
  using What = gpuprof::record::ProcessEvent::What;
  Rig rig;
  const auto told = [&rig] {
    std::vector<uint32_t> versions;
    for (const auto& events : rig.correlator.take_process_events()) {
      if (events.what == What::python) {
        versions.push_back(events.layout.version);
      }
    }
    return versions;
  };
  gpuprof_python_layout layout{};
  layout.version = 1;
  rig.correlator.on_python(1, layout);
  rig.correlator.on_python(1, layout);
  CHECK(told() == std::vector<uint32_t>{1});
  rig.correlator.on_source(2, kPid, "mock1");  // the process has executed a new program
  layout.version = 2;
  rig.correlator.on_python(2, layout);
  layout.version = 3;
  rig.correlator.on_python(1, layout);  // a late record of the old source, which must be ignored
  CHECK(told() == std::vector<uint32_t>{2});
  for (uint32_t version = 10; version < 110; ++version) {
    layout.version = version;
    rig.correlator.on_python(2, layout);
  }
  CHECK(told().size() == 7);
  rig.take();
  CHECK(rig.correlator.totals().lost.at("malformed") == 93);
}

TEST_CASE("a target cannot get another process's stack by choosing its id") {
  Rig rig;
  constexpr uint32_t kOther = 1;
  rig.open(2, kOther);
  rig.correlator.on_stack(77, kOther, kStack, 0, 0);
  rig.launch(1, 77);
  rig.correlator.on_gpu_op(Rig::kernel(1));
  rig.correlator.finish();
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(rig.work(batch).stack == 0);
  CHECK(batch.stacks.empty());
  CHECK(coverage(batch).count("stack_whole") == 0);
}

TEST_CASE("work does not wait for a stack that was dropped because there were too many") {
  InProcess rig;
  constexpr uint64_t kTooMany = 300'001;
  for (uint64_t id = 1; id <= kTooMany; ++id) {
    rig.walked(1, id, kStack);
  }
  rig.iterate(1);
  rig.launched(1, 1, 5);
  rig.kernel_of(1, 1);
  rig.launched(1, 2, kTooMany + 1);  // this stack id was neither dropped nor received
  rig.kernel_of(1, 2);
  rig.iterate(1);
  const Batch batch = rig.take();
  REQUIRE(batch.rows.size() == 1);
  CHECK(batch.rows[0].second.count == 1);
  CHECK(rig.work(batch).stack == 0);
  rig.walked(1, kTooMany + 1, kStack);
  rig.iterate(1);
  const Batch later = rig.take();
  REQUIRE(later.rows.size() == 1);
  CHECK(rig.work(later).stack != 0);
}

TEST_CASE("a stack of many code objects is complete when the last of them arrives") {
  InProcess rig;
  constexpr uint32_t kCodes = 50;
  std::vector<uint64_t> words;
  for (uint32_t id = 1; id <= kCodes; ++id) {
    words.push_back(GPUPROF_WORD_OF_PYTHON(id, 0u));
  }
  rig.launched(1, 1, 42);
  rig.walked(1, 42, words);
  rig.kernel_of(1, 1);
  for (uint32_t id = kCodes; id >= 1; --id) {
    rig.iterate(id % 2 == 0 ? 1 : 0);
    CHECK(rig.take().rows.empty());
    rig.code(1, id, "f");
  }
  rig.iterate(1);
  CHECK(rig.take().stacks.size() == 1);
}

TEST_CASE("an unsupported Python is named at the end") {
  using gpuprof::record::python_line;
  const std::string process = "process " + std::to_string(kPid);
  InProcess rig;
  rig.correlator.on_meta(1, "python.refused=its version is not known\x1b");
  rig.correlator.on_meta(1, "python.version=3.8.10");
  CHECK(python_line(rig.correlator.totals().refused_python).empty());
  rig.correlator.finish();
  CHECK(python_line(rig.correlator.totals().refused_python) ==
        process + " is recorded without Python frames. It reports 'Python 3.8.10: its version is not known\\x1b'");

  InProcess two;
  two.open(2, 1);
  two.correlator.on_meta(1, "python.version=PyPy");
  two.correlator.on_meta(1, "python.refused=PyPy");
  two.correlator.on_meta(2, "python.refused=PyPy");
  two.correlator.on_source_end(1);
  two.correlator.on_source_end(2);
  CHECK(python_line(two.correlator.totals().refused_python) ==
        process + " is recorded without Python frames. It reports 'PyPy'; so do other processes");

  Rig pointers({.frame_pointers = true});  // a frame-pointer walk finds no Python frames in any process
  pointers.correlator.on_meta(1, "python.refused=PyPy");
  pointers.correlator.finish();
  CHECK(python_line(pointers.correlator.totals().refused_python).empty());
}

TEST_CASE("a process that continues before its tables are ready is named in the profile") {
  Rig rig;
  rig.correlator.on_tables_late(1);
  const Batch batch = rig.take();
  REQUIRE(batch.meta.size() == 1);
  CHECK(batch.meta[0].first == "process." + std::to_string(kPid) + ".note.tables");
}

TEST_CASE("code objects of a process are limited in number and bytes") {
  CodeTable table;
  CodeIds ids;
  const std::string name(4000, 'n');
  const std::vector<uint8_t> lines(60'000);
  size_t bytes = 0;
  size_t nameless = 0;
  for (uint32_t id = 1; id <= 20'000; ++id) {
    table.define(ids, {}, PythonCode{.id = id, .first_line = id, .name = name, .line_table = lines},
                 Redefinition::ignored);
    for (const NewCode& code : table.take_new()) {
      bytes += code.name.size() + code.line_table.size();
      nameless += code.name.empty() ? 1 : 0;
      CHECK(code.first_line == id);
    }
  }
  CHECK(bytes == ids.bytes);
  CHECK(bytes <= CodeTable::kMaxBytesOfOne);
  CHECK(nameless > 0);
  CHECK(nameless < 20'000);
  for (uint32_t id = 20'001; id <= CodeIds::kMaxCodes + 10; ++id) {
    table.mention(ids, id);
  }
  CHECK(ids.known.size() == CodeIds::kMaxCodes);
  CHECK(table.mention(ids, 0x7fffffff) == 0);
  CHECK(table.is_defined(0));
}
