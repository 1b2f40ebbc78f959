#!/usr/bin/env python3
"""Tests that the Level Zero library sends the code of modules and the addresses of their kernels. If nothing else is
requested, it sends nothing else."""

import os
import subprocess

import wire_layout as wire
import wire_recorder
import ze_rig
from ze_rig import APP, DRIVER, SECOND_DRIVER

CODE_ONLY = wire.OPTION_SAMPLES | wire.OPTION_CODE_ONLY


class Code(ze_rig.LevelZeroTest):
    def setUp(self):
        super().setUp()
        self.zebin = os.path.join(os.path.dirname(self.profile_path), "code.zebin")
        with open(self.zebin, "wb") as file:
            file.write(b"\x7fELF" + bytes(range(256)) * 300 + b"odd")

    def run_app(self, case, options, faults="", drivers=(DRIVER,), recorder=None):
        recorder = recorder or wire_recorder.Recorder(options=options, code_kind=wire.CODE_ZEBIN)
        environment = {**os.environ, **recorder.environment(), "ZE_ENABLE_ALT_DRIVERS": ",".join(drivers),
                       "LD_PRELOAD": os.environ["GPUPROF_LEVEL_ZERO_LIBRARY"], "ZE_ENABLE_TRACING_LAYER": "1",
                       "MOCK_ZE_ZEBIN": self.zebin, "MOCK_ZE_FAULTS": faults}
        try:
            run = subprocess.run([APP, case, "2"], env=environment, capture_output=True, text=True, timeout=60)
        finally:
            recorder.close()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(len(recorder.sources), 1)
        said = [(line.split()[1], int(line.split()[2])) for line in run.stdout.splitlines() if line.startswith("code ")]
        return recorder.sources[0], said

    def assert_code(self, source, said):
        with open(self.zebin, "rb") as file:
            self.assertTrue(list(source.modules_of_code.values()) == [file.read()], "not once, though it was loaded twice")
        module, = source.modules_of_code
        told = [kernel for kernel in source.gpu_kernels if not kernel["flags"]]
        self.assertEqual([(source.names[kernel["name_id"]], kernel["address"]) for kernel in told], said)
        self.assertEqual({kernel["module"] for kernel in told}, {module})
        loads = [kernel["load"] for kernel in told]
        self.assertEqual(loads, sorted(loads))
        self.assertEqual(len(set(loads)), 2, "each loading has a number of its own")
        gone = [kernel for kernel in source.gpu_kernels if kernel["flags"] & wire.GPU_KERNEL_GONE]
        self.assertEqual([kernel["load"] for kernel in gone], sorted(set(loads)))
        for kernel in gone:
            self.assertGreaterEqual(kernel["time_ns"], max(one["time_ns"] for one in told if one["load"] == kernel["load"]))

    def test_code_only_sends_code_and_addresses_and_nothing_else(self):
        source, said = self.run_app("code", CODE_ONLY)
        self.assertEqual(len(said), 6)
        self.assert_code(source, said)
        self.assertEqual((source.state, source.lost, source.launches), ("finished", {}, 0))
        self.assertEqual((source.gpu_ops, source.launch_records, source.host_ops), ([], [], []))
        self.assertEqual(source.meta["level_zero.kernel_addresses"], "known")

    def test_code_is_sent_beside_the_work(self):
        source, said = self.run_app("code", wire.OPTION_SAMPLES)
        self.assert_code(source, said)
        self.assertEqual(len(source.gpu_ops), 12)

    def test_no_code_is_sent_without_the_option(self):
        source, _ = self.run_app("code", 0)
        self.assertEqual((source.modules_of_code, source.gpu_kernels), ({}, []))
        self.assertEqual(len(source.gpu_ops), 12)

    def test_a_driver_without_the_extension_sends_code_without_addresses(self):
        source, _ = self.run_app("code_unsaid", CODE_ONLY, faults="no_extension")
        self.assertEqual(len(source.modules_of_code), 1)
        self.assertEqual([kernel for kernel in source.gpu_kernels if not kernel["flags"]], [])
        self.assertNotEqual(source.meta["level_zero.kernel_addresses"], "known")

    def test_modules_without_a_binary_send_addresses_without_code(self):
        source, said = self.run_app("code", CODE_ONLY, faults="no_binary")
        self.assertEqual(source.modules_of_code, {})
        told = [kernel for kernel in source.gpu_kernels if not kernel["flags"]]
        self.assertEqual([kernel["address"] for kernel in told], [address for _, address in said])
        self.assertEqual({kernel["module"] for kernel in told}, {0})

    def test_each_driver_is_asked_for_its_own_kernels(self):
        # Each mock driver ends the process if it gets a handle of the other driver, so a mistake would end the app.
        source, _ = self.run_app("code_of_two", CODE_ONLY, drivers=(DRIVER, SECOND_DRIVER))
        told = [(source.names[kernel["name_id"]], kernel["address"]) for kernel in source.gpu_kernels if not kernel["flags"]]
        self.assertEqual([name for name, _ in told], ["scale", "add"] * 2)
        self.assertEqual(told[:2], told[2:], "each driver's first module lies where the other's does")
        self.assertEqual(source.meta["level_zero.kernel_addresses"], "known")
        self.assertEqual(len(source.modules_of_code), 1)

    def test_two_drivers_without_the_extension_send_no_addresses(self):
        source, _ = self.run_app("code_of_two", CODE_ONLY, drivers=(DRIVER, SECOND_DRIVER), faults="no_extension")
        self.assertEqual([kernel for kernel in source.gpu_kernels if not kernel["flags"]], [])
        self.assertEqual(source.meta["level_zero.kernel_addresses"], "not available from the driver")

    def test_refused_code_is_counted_as_a_lost_detail(self):
        recorder = wire_recorder.Recorder(options=CODE_ONLY, code_kind=wire.CODE_ZEBIN)
        recorder.refuses_code = True
        source, said = self.run_app("code", CODE_ONLY, recorder=recorder)
        self.assertEqual(source.modules_of_code, {})
        self.assertEqual(source.lost, {"detail": 1})
        self.assertEqual(len(said), 6)


if __name__ == "__main__":
    ze_rig.rig.main()
