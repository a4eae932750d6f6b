"""The hash of the device sources follows their content and names, and not the place of the checkout."""

import pathlib
import shutil
import tempfile
import unittest

import device_hash as tool
from gpu_receipt import state

FILES = ("tylo/a.hpp", "ops/add/add.hpp", "runtime/device/ring.hpp", "runtime/gpu/image.cpp", "runtime/cuda/open.cpp",
         "tests/cuda/kit.hpp", "tests/probes/pairs.cu", "runtime/kernels/CMakeLists.txt",
         "cmake/megakernels-add-kernel.cmake")


def make_tree(folder):
    root = pathlib.Path(folder)
    for name in (*FILES, "tylo/emulator/grid.cpp", "ops/add/add.cpp", "runtime/session.cpp", "README.md", tool.RECEIPT):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


class device_hash_test(unittest.TestCase):
    def test_only_deciding_files_count(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(tool.sources(make_tree(folder)), sorted(FILES))

    def test_place_does_not_count(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            self.assertEqual(tool.device_hash(make_tree(one)), tool.device_hash(make_tree(other)))

    def test_each_deciding_file_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            root = make_tree(folder)
            before = tool.device_hash(root)
            for name in FILES:
                (root / name).write_text("changed")
                self.assertNotEqual(tool.device_hash(root), before, name)
                (root / name).write_text(name)
            for name in ("tylo/emulator/grid.cpp", "ops/add/add.cpp", "README.md", tool.RECEIPT):
                (root / name).write_text("changed")
            self.assertEqual(tool.device_hash(root), before)
            shutil.move(root / FILES[0], root / "tylo/b.hpp")
            self.assertNotEqual(tool.device_hash(root), before)

    def test_this_checkout_has_device_sources(self):
        names = tool.sources()
        self.assertIn("runtime/device/kernel.cuh", names)
        self.assertIn("ops/linear/linear.hpp", names)
        self.assertNotIn("ops/linear/linear.cpp", names)


class receipt_line_test(unittest.TestCase):
    receipt = {"status": "passed", "device_sources": "abc", "card": "NVIDIA H200", "driver": "580.1",
               "date": "2026-01-02T03:04:05Z", "tests": {"passed": 12, "failed": 0, "skipped": 1}}

    def test_states(self):
        self.assertEqual(state(self.receipt, "abc"),
                         "GPU receipt: current, 12 tests on NVIDIA H200, driver 580.1, 2026-01-02")
        self.assertIn("stale", state(self.receipt, "abd"))
        self.assertIn("FAILED", state({**self.receipt, "status": "failed"}, "abc"))
        self.assertIn("none", state(None, "abc"))


unittest.main()
