#include "record/bpf/loader_probe.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>

#include "catch.h"
#include "symbolize/process_maps.h"

using gpuprof::record::find_loader_probe;
using gpuprof::record::is_loader;

TEST_CASE("the loader of this program has a probe that locates its state") {
  gpuprof::reader::Process reader({});
  gpuprof::symbolize::ProcessMaps maps(static_cast<uint32_t>(::getpid()), gpuprof::symbolize::make_file_cache());
  REQUIRE(maps.refresh());
  const auto loader = std::find_if(maps.mappings().begin(), maps.mappings().end(),
                                   [](const auto& mapping) { return mapping.file && is_loader(mapping.file->path); });
  REQUIRE(loader != maps.mappings().end());
  const auto probe = find_loader_probe(reader, loader->file->fd.get());
  REQUIRE(probe);
  const uint64_t function = loader->start - loader->offset + probe->file_offset;
  // DT_DEBUG gives the loader's own _r_debug; the symbol _r_debug may be a copy in this program.
  const auto* debug = std::find_if(_DYNAMIC, _DYNAMIC + 100, [](const auto& one) { return one.d_tag == DT_DEBUG; });
  REQUIRE(debug->d_tag == DT_DEBUG);
  CHECK(function + probe->state == debug->d_un.d_ptr + offsetof(r_debug, r_state));
}

TEST_CASE("other files have no loader probe") {
  gpuprof::reader::Process reader({});
  CHECK(is_loader("/usr/lib64/ld-linux-x86-64.so.2"));
  CHECK(is_loader("/lib/x86_64-linux-gnu/ld-2.31.so"));
  CHECK_FALSE(is_loader("/usr/lib/libldap.so.2"));
  CHECK_FALSE(is_loader("/tmp/ldap.so"));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  REQUIRE(file);
  CHECK_FALSE(find_loader_probe(reader, ::fileno(file.get())));
  REQUIRE(std::fputs("\177ELF\2\1\1 and then something else, for more than the size of a header of an ELF file",
                     file.get()) >= 0);
  std::fflush(file.get());
  CHECK_FALSE(find_loader_probe(reader, ::fileno(file.get())));
}
