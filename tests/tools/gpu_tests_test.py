"""gpu_tests.py notes what each test did, also where one crashes or hangs. A script stands in for a GoogleTest program."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

import gpu_tests as tool

# Arguments after the name: what the tests a, b, ... do.
PROGRAM = """#!{python}
import json, os, sys, time
options = dict(argument.split("=", 1) for argument in sys.argv[1:])
without = options["--gtest_filter"].partition("-")[2].split(":")
tests, failed = [], False
for name, what in {tests}:
    full = "suite." + name
    if full in without:
        continue
    print("[ RUN      ] " + full, flush=True)
    if what == "crash":
        os.abort()
    if what == "hang":
        time.sleep(60)
    word = {{"pass": "      OK", "fail": " FAILED ", "skip": " SKIPPED"}}[what]
    print("[" + word.rjust(10) + " ] " + full + " (7 ms)", flush=True)
    failed |= what == "fail"
    tests.append({{"name": name, "status": "RUN", "result": "SKIPPED" if what == "skip" else "COMPLETED",
                  "time": "0.007s", **({{"failures": [{{}}]}} if what == "fail" else {{}})}})
with open(options["--gtest_output"].partition(":")[2], "w") as out:
    json.dump({{"testsuites": [{{"name": "suite", "testsuite": tests}}]}}, out)
sys.exit(failed)
"""


@contextlib.contextmanager
def program(*tests):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "test-fake"
        path.write_text(PROGRAM.format(python=sys.executable, tests=repr(list(tests))))
        path.chmod(0o755)
        yield str(path)


def results(*tests, limit_s=30):
    with program(*tests) as path, contextlib.redirect_stdout(io.StringIO()):
        return {name: found["result"] for name, found in tool.run_program(path, limit_s).items()}


class run_test(unittest.TestCase):
    def test_results(self):
        self.assertEqual(results(("a", "pass"), ("b", "fail"), ("c", "skip")),
                         {"suite.a": "passed", "suite.b": "failed", "suite.c": "skipped"})

    def test_the_rest_is_run_after_a_crash(self):
        self.assertEqual(results(("a", "pass"), ("b", "crash"), ("c", "crash"), ("d", "pass")),
                         {"suite.a": "passed", "suite.b": "failed", "suite.c": "failed", "suite.d": "passed"})

    def test_a_test_that_hangs_is_ended(self):
        self.assertEqual(results(("a", "hang"), ("b", "pass"), limit_s=2), {"suite.a": "failed", "suite.b": "passed"})


class receipt_test(unittest.TestCase):
    def receipt(self, gpu, *tests):
        with program(*tests) as path, contextlib.redirect_stdout(io.StringIO()):
            out = pathlib.Path(path).with_name("receipt.json")
            tool.card = lambda: gpu
            sys.argv = ["gpu_tests.py", "--binaries", path, "--out", str(out), "--hash", "abc", "--commit", "def"]
            code = tool.main()
            return code, json.loads(out.read_text()) if out.exists() else None

    def test_passed(self):
        code, receipt = self.receipt(("NVIDIA H200", "580.1", "13.0"), ("a", "pass"), ("b", "skip"))
        self.assertEqual((code, receipt["status"], receipt["device_sources"]), (0, "passed", "abc"))
        self.assertEqual(receipt["tests"], {"passed": 1, "failed": 0, "skipped": 1})
        self.assertEqual(receipt["results"]["test-fake/suite.a"], {"result": "passed", "ms": 7})

    def test_a_failure_or_nothing_but_skips_is_not_passed(self):
        for tests in ((("a", "pass"), ("b", "fail")), (("a", "skip"),), ()):
            code, receipt = self.receipt(("NVIDIA H200", "580.1", "13.0"), *tests)
            self.assertEqual((code, receipt["status"]), (1, "failed"))

    def test_no_receipt_without_a_gpu(self):
        self.assertEqual(self.receipt(None, ("a", "pass")), (1, None))


unittest.main()
