#!/usr/bin/env python3
"""Proves that check.py can fail: adds one fault at a time to a small tree without faults."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
import check  # noqa: E402

TABLE = """# Architecture
## Who may include whom
| folder | holds | may include |
|---|---|---|
| `src/base` | x | nothing |
| `src/wire` | x | nothing |
| `src/profile` | x | `base` |
| `src/backend` | x | `base` `wire` `profile/records.h` |
| `src/cmd` | x | `base` `backend` |
| `src/main.cpp` | x | `cmd` |
| `bpf` | x | `wire` |
| `injection` | x | `wire` |
## Something else
| `src/analyze` | not part | `everything` |
"""

SOUND = {
    "docs/architecture.md": TABLE,
    "src/base/result.h": "#include <string>\n",
    "src/wire/wire.h": "#include <stdint.h>\n",
    "src/profile/records.h": '#include "base/result.h"\n',
    "src/profile/writer.h": '#include "profile/records.h"\n',
    "src/backend/backend.h": '#include "profile/records.h"\n#include "wire/wire.h"\n',
    "src/backend/registry.cpp": '#include "backend/opencl/opencl.h"\n',
    "src/backend/opencl/opencl.h": '#include "backend/backend.h"\n#include <CL/cl.h>\n',
    "src/backend/cupti/cupti.h": "\n",
    "src/cmd/command.h": '#include "backend/backend.h"\n#include <CLI/CLI.hpp>\n',
    "src/main.cpp": '#include "cmd/command.h"\n',
    "bpf/shared.h": "\n",
    "bpf/launch.bpf.c": '#include "shared.h"\n#include "wire/wire.h"\n#include <bpf/bpf_helpers.h>\n',
    "injection/runtime/emit.h": '#include "wire/wire.h"\n',
    "injection/opencl/layer.cpp": '#include "runtime/emit.h"\n#include <CL/cl_layer.h>\n',
    "injection/cupti/hook.h": '#include "cupti/api/cupti_abi.h"\n',
    "injection/cupti/api/cupti_abi.h": "\n",
    "injection/cupti/api/abi_check.cpp": '#include "cupti/api/cupti_abi.h"\n#include <cupti.h>\n#include <cuda.h>\n',
    "test/mocks/cuda.cpp": "#include <cuda.h>\n",
    "examples/opencl/main.cpp": "#include <CL/cl.h>\n",
    "test/unit/base/result_test.cpp": '#include "catch.h"\n#include "profile/writer.h"\n',
}


class Layering(unittest.TestCase):
    def faults(self, changed):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**SOUND, **changed}.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return check.check_tree(folder)

    def one_fault(self, path, line):
        faults = self.faults({path: SOUND.get(path, "") + line + "\n"})
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(path + ":"), faults[0])

    def test_a_tree_without_faults_passes(self):
        self.assertEqual(self.faults({}), [])

    def test_an_include_from_a_folder_that_the_table_does_not_allow_is_a_fault(self):
        self.one_fault("src/base/result.h", '#include "profile/records.h"')
        self.one_fault("src/main.cpp", '#include "backend/backend.h"')
        self.one_fault("bpf/launch.bpf.c", '#include "base/result.h"')
        self.one_fault("injection/runtime/emit.h", '#include "base/result.h"')

    def test_subfolders_have_rows_of_their_own(self):
        table = TABLE.replace("## Something else", "| `src/record` | x | `base` `wire` |\n| `src/record/join` | x | `record/batch.h` |\n"
                              "| `injection/base` | x | nothing |\n| `injection/stack` | x | `injection/base` |\n"
                              "## Something else")
        table = table.replace("## Something else", "| `src/record/join/sums` | x | nothing |\n## Something else")
        files = {"docs/architecture.md": table, "src/record/batch.h": "\n", "src/record/session.h": "\n",
                 "src/record/join/sums/rows.h": "\n", "src/record/join/work.h": '#include "record/join/sums/rows.h"\n',
                 "src/record/join/join.h": '#include "record/batch.h"\n', "injection/stack/walk.h": "\n",
                 "injection/base/atomics.h": "\n"}
        sound = files | {"src/record/session.cpp": '#include "record/join/join.h"\n',
                         "injection/stack/walk.cpp": '#include "base/atomics.h"\n'}
        self.assertEqual(self.faults(sound), [])
        for path, name in (("src/record/join/join.cpp", "record/session.h"),
                           ("src/record/join/sums/rows.cpp", "record/join/work.h"),
                           ("injection/base/atomics.cpp", "stack/walk.h")):
            faults = self.faults(files | {path: f'#include "{name}"\n'})
            self.assertEqual(len(faults), 1, faults)
            self.assertTrue(faults[0].startswith(path), faults)

    def test_a_row_that_names_a_header_does_not_allow_its_folder(self):
        self.one_fault("src/backend/backend.h", '#include "profile/writer.h"')

    def test_backends_do_not_include_each_other(self):
        self.one_fault("src/backend/opencl/opencl.h", '#include "backend/cupti/cupti.h"')
        self.one_fault("src/backend/backend.h", '#include "backend/cupti/cupti.h"')
        self.one_fault("src/cmd/command.h", '#include "backend/opencl/opencl.h"')
        self.one_fault("injection/opencl/layer.cpp", '#include "cupti/hook.h"')

    def test_vendor_headers_are_faults_outside_their_folders(self):
        self.one_fault("src/base/result.h", "#include <CL/cl.h>")
        self.one_fault("src/cmd/command.h", "#include <cuda_runtime.h>")
        self.one_fault("src/backend/opencl/opencl.h", "#include <cupti.h>")
        self.one_fault("src/backend/cupti/cupti.h", "#include <cuda.h>")
        self.one_fault("injection/cupti/hook.h", "#include <cupti_activity.h>")
        self.one_fault("injection/cupti/api/cupti_abi.h", "#include <nvtx3/nvToolsExt.h>")
        self.one_fault("injection/runtime/emit.h", "#  include <level_zero/ze_api.h>")
        self.one_fault("test/unit/base/result_test.cpp", "#include <cuda.h>")
        self.one_fault("src/profile/writer.h", "#include <bpf/libbpf.h>")
        self.one_fault("src/profile/writer.h", "#include <CLI/CLI.hpp>")
        self.one_fault("src/profile/writer.h", "#include <nlohmann/json.hpp>")
        self.one_fault("src/profile/writer.h", "#include <re2/re2.h>")

    def test_an_include_path_that_does_not_begin_at_the_root_is_a_fault(self):
        self.one_fault("src/profile/writer.h", '#include "records.h"')
        self.one_fault("src/profile/writer.h", '#include "../base/result.h"')
        self.one_fault("src/profile/writer.h", '#include "base/absent.h"')

    def test_only_the_openers_open_files(self):
        for line in ("int fd = ::open(path, flags);", "const UniqueFd fd(open(path, O_RDONLY));", "open(path,\n     O_PATH);",
                     "::openat(folder, name, flags);", "fopen(path, mode);", "std::ifstream file(path);",
                     "std::ofstream(path) << 1;", "mkdir(path, 0700);", "if (::mkdirat(at, name, 0) != 0) {}",
                     "std::rename(old, now);", "::renameat(at, old, at, now);", "fs::create_directories(path);",
                     "std::filesystem::rename(old, now);", "#include <fstream>"):
            with self.subTest(line=line):
                self.one_fault("src/base/result.h", line)
                self.assertEqual(self.faults({"src/base/files/open.cpp": line}), [])

    def test_other_functions_named_open_are_no_faults(self):
        self.assertEqual(self.faults({"src/profile/writer.h": """
// open() blocks: open(path, O_RDONLY)
auto reader = Reader::open(fd); devices->open(gt); static Reader open(UniqueFd fd); open(group); const int f = O_RDONLY;
Result<Reader> Reader::open(UniqueFd fd) { return input.open(name, O_RDONLY); }
"""}), [])

    def test_a_folder_without_a_row_is_a_fault(self):
        faults = self.faults({"src/extra/x.h": "\n"})
        self.assertEqual(faults, ["src/extra: has no row in the table of docs/architecture.md"])


if __name__ == "__main__":
    unittest.main()
