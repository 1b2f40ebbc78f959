
#include "record/process/code/gpu_code.h"

#include <array>
#include <string>

#include "catch.h"
#include "profile/parse.h"

using gpuprof::backend::GpuFrame;
using gpuprof::backend::GpuModule;
using gpuprof::backend::GpuPlace;
using gpuprof::profile::index;
using gpuprof::record::Batch;
using gpuprof::record::GpuCode;
using gpuprof::record::MemoryBudget;
using gpuprof::record::NameTable;
using gpuprof::record::SourceGpuCode;

namespace {

struct Tables {
  NameTable names;
  GpuCode code{names};
  SourceGpuCode first;
  SourceGpuCode second;

  Batch take() {
    Batch batch;
    code.take_new(batch);
    return batch;
  }
};

constexpr std::array<GpuFrame, 2> kLines = {{{"saxpy", "a.cu", 12}, {"fused", "b.h", 5}}};

GpuPlace place(uint32_t id, uint64_t offset = 16) {
  return {.id = id, .module = 1, .function = "saxpy", .offset = offset, .instruction = "FFMA", .frames = kLines};
}

}  // namespace

TEST_CASE("a module is identified by its hash, or by its name if it has no hash") {
  Tables t;
  t.code.add(t.first, GpuModule{.id = 1, .name = "a.cubin", .hash = "aa"});
  t.code.add(t.second, GpuModule{.id = 9, .name = "copy of a", .hash = "aa"});
  t.code.add(t.first, GpuModule{.id = 2, .name = "b.cubin"});
  t.code.add(t.second, GpuModule{.id = 1, .name = "b.cubin"});
  t.code.add(t.second, GpuModule{.id = 2, .name = "aa"});  // the name equals the hash of another module
  CHECK(t.first.module(1) == t.second.module(9));
  CHECK(t.first.module(2) == t.second.module(1));
  CHECK(t.second.module(2) != t.first.module(1));
  CHECK(index(t.first.module(77)) == 0);
  t.code.add(t.first, GpuModule{.id = 3});  // without name and hash the module is unknown
  CHECK(index(t.first.module(3)) == 0);
  const Batch batch = t.take();
  REQUIRE(batch.gpu_modules.size() == 3);
  CHECK(t.names.text(index(batch.gpu_modules[0].name)) == "a.cubin");
  CHECK(t.names.text(index(batch.gpu_modules[0].hash)) == "aa");
  CHECK(t.take().gpu_modules.empty());
}

TEST_CASE("equal modules, functions, offsets, instructions and lines are one code location") {
  Tables t;
  t.code.add(t.first, GpuModule{.id = 1, .name = "a.cubin", .hash = "aa"});
  t.code.add(t.second, GpuModule{.id = 1, .name = "a.cubin", .hash = "aa"});
  t.code.add(t.first, place(1));
  t.code.add(t.second, place(5));
  CHECK(t.first.place(1) == t.second.place(5));

  GpuPlace other = place(2, 32);
  t.code.add(t.first, other);
  other = place(3);
  other.instruction = "FADD";
  t.code.add(t.first, other);
  other = place(4);
  other.frames = other.frames.first(1);
  t.code.add(t.first, other);
  other = place(5);
  other.function = "reduce";
  t.code.add(t.first, other);
  other = place(6);
  other.module = 4711;  // no module has this id
  t.code.add(t.first, other);
  const Batch batch = t.take();
  REQUIRE(batch.gpu_places.size() == 6);
  CHECK(batch.gpu_places[0].module == t.first.module(1));
  CHECK(batch.gpu_places[0].offset == 16);
  REQUIRE(batch.gpu_places[0].lines.size() == 2);
  CHECK(t.names.text(batch.gpu_places[0].lines[1].function) == "fused");
  CHECK(t.names.text(batch.gpu_places[0].lines[1].file) == "b.h");
  CHECK(batch.gpu_places[0].lines[1].line == 5);
  CHECK(index(batch.gpu_places[5].module) == 0);
}

TEST_CASE("the first definition of an id is used, and 0 means none") {
  Tables t;
  t.code.add(t.first, GpuModule{.id = 1, .name = "a", .hash = "aa"});
  const auto module = t.first.module(1);
  t.code.add(t.first, GpuModule{.id = 1, .name = "b", .hash = "bb"});
  t.code.add(t.first, GpuModule{.id = 0, .name = "c", .hash = "cc"});
  CHECK(t.first.module(1) == module);
  t.code.add(t.first, place(1));
  const auto known = t.first.place(1);
  t.code.add(t.first, place(1, 64));
  t.code.add(t.first, place(0, 128));
  CHECK(t.first.place(1) == known);
  const Batch batch = t.take();
  CHECK(batch.gpu_modules.size() == 1);
  CHECK(batch.gpu_places.size() == 1);
}

TEST_CASE("a code location has no more lines than a profile may hold") {
  Tables t;
  const std::vector<GpuFrame> deep(gpuprof::profile::kMostPlaceFrames + 5, GpuFrame{"f", "f.cu", 1});
  GpuPlace made = place(1);
  made.frames = deep;
  t.code.add(t.first, made);
  CHECK(t.take().gpu_places.at(0).lines.size() == gpuprof::profile::kMostPlaceFrames);
}

TEST_CASE("at the memory limit new code is dropped and counted") {
  uint64_t used = 0;
  MemoryBudget memory([&used] { return used; });
  NameTable names;
  GpuCode code(names, &memory);
  SourceGpuCode source;
  code.add(source, GpuModule{.id = 1, .name = "a", .hash = "aa"});
  code.add(source, place(1));
  used = MemoryBudget::kLimit;
  memory.look();
  code.add(source, GpuModule{.id = 2, .name = "b", .hash = "bb"});
  code.add(source, place(2, 32));
  CHECK(index(source.module(2)) == 0);
  CHECK(index(source.place(2)) == 0);
  CHECK(index(source.place(1)) != 0);
  CHECK(memory.left_out() == 2);
}

TEST_CASE("the number of modules is limited, and dropped ones are counted") {
  MemoryBudget memory([] { return uint64_t{0}; });
  NameTable names;
  GpuCode code(names, &memory);
  SourceGpuCode source;
  for (uint32_t i = 1; i <= GpuCode::kMaxModules + 2; ++i) {
    code.add(source, GpuModule{.id = i, .name = std::to_string(i)});
  }
  CHECK(source.modules.size() == GpuCode::kMaxModules);
  CHECK(memory.left_out() == 2);
}
