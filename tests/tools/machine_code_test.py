"""machine_code.py reads what cuobjdump and ptxas print, and says what is worse than the report."""

import copy
import pathlib
import unittest

import machine_code as tool

SYMBOL = "_ZN2mk6device6kernelINS_3addEEEvv"
RESOURCES = f"""
 Common:
  GLOBAL:0
 Function {SYMBOL}:
  REG:168 STACK:32 SHARED:1024 LOCAL:0 CONSTANT[0]:616 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
LISTING = f"""
\t\tFunction : {SYMBOL}
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;       /* 0x00000a00ff017b82 */
                                                                /* 0x000e240000000800 */
        /*0010*/              @!P0 STL [R1+0x18], R2 ;          /* 0x0000180201007387 */
        /*0020*/              @UP1 LDG.E.64 R2, desc[UR4][R2.64] ; /* 0x0 */
        /*0030*/                   LDL.64 R2, [R1] ;            /* 0x0 */
        /*0040*/                   CALL.REL.NOINC 0x400 ;       /* 0x0 */
        /*0050*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ; /* 0x0 */
        /*0060*/                   HGMMA.64x64x16.F32 R24, gdesc[UR4], R24 ; /* 0x0 */
"""
PTXAS = ["ptxas info    : Compiling entry function '" + SYMBOL + "' for 'sm_90a'",
         "    32 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads",
         "ptxas info    : Function properties for _Z6helperv",
         "    0 bytes stack frame, 2 bytes spill stores, 2 bytes spill loads"]


def measured():
    return {"small": {"architectures": ["sm_90a"], "kernels": tool.figures(RESOURCES, LISTING, PTXAS),
                      "compilation": {"cpu_s": 20, "peak_mb": 900}}}


LIMITS = {"compilation": {"default": {"cpu_s": 150, "peak_mb": 3000}, "small": {"cpu_s": 40}}, "allowed": []}


def problems(found, limits=LIMITS, version="13.0.88"):
    return tool.check(found, tool.report_of(measured(), "13.0.88"), limits, version)[0]


class reading_test(unittest.TestCase):
    def test_figures(self):
        kernel = measured()["small"]["kernels"]["mk::device::kernel"]
        del kernel["instructions"]
        self.assertEqual(kernel, {
            "registers": 168, "spill_store_bytes": 6, "spill_load_bytes": 10, "stack_bytes": 32, "shared_bytes": 1024,
            "code_bytes": 112, "local_loads": 1, "local_stores": 1, "calls": 1, "barriers": 1,
            "warpgroup_products": 1})

    def test_names(self):
        self.assertEqual(tool.readable("main_kernel"), "main_kernel")
        self.assertEqual(tool.readable("_Z5soundPKfPf"), "sound")


class comparison_test(unittest.TestCase):
    def changed(self, figure, change):
        found = measured()
        found["small"]["kernels"]["mk::device::kernel"][figure] += change
        return problems(found)

    def test_equal_and_better_pass(self):
        self.assertEqual(problems(measured()), [])
        for figure in ("registers", "stack_bytes", "shared_bytes", "spill_store_bytes", "spill_load_bytes", "calls"):
            self.assertEqual(self.changed(figure, -1), [], figure)

    def test_worse_fails_and_says_how_to_write_the_report(self):
        for figure in ("registers", "stack_bytes", "shared_bytes", "spill_store_bytes", "spill_load_bytes", "calls",
                       "local_loads", "local_stores", "barriers"):
            found = self.changed(figure, 1)
            self.assertEqual(len(found), 2, figure)
            self.assertIn(figure, found[0])
            self.assertIn("./mk machine-code", found[1])

    def test_code_may_change_by_3_percent(self):
        self.assertEqual(self.changed("code_bytes", 3), [])
        self.assertEqual(len(self.changed("code_bytes", 16)), 2)
        self.assertEqual(len(self.changed("code_bytes", -16)), 2)

    def test_lost_tensor_core_products_fail(self):
        self.assertEqual(len(self.changed("warpgroup_products", -1)), 2)

    def test_other_architectures_kernels_and_instances_fail(self):
        found = measured()
        found["small"]["architectures"].append("sm_80")
        found["small"]["kernels"]["other"] = copy.deepcopy(found["small"]["kernels"]["mk::device::kernel"])
        found["large"] = measured()["small"]
        self.assertEqual(len(problems(found)), 4)

    def test_another_compiler_is_not_compared(self):
        found = measured()
        found["small"]["kernels"]["mk::device::kernel"]["registers"] += 1
        self.assertEqual(problems(found, version="13.1.1"), [])


class refusal_test(unittest.TestCase):
    def with_instruction(self, name, limits=LIMITS, version="13.0.88"):
        found = measured()
        found["small"]["kernels"]["mk::device::kernel"]["instructions"].append(name)
        return problems(found, limits, version)

    def test_refused(self):
        for name in ("LDG.E.CONSTANT", "LDG.E.128.CONSTANT", "LDG.E.NA.CONSTANT", "LDG.E.U16.CONSTANT",
                     "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU", "ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU"):
            for version in ("13.0.88", "13.1.1"):
                self.assertEqual(len(self.with_instruction(name, version=version)), 1, name)

    def test_not_refused(self):
        for name in ("LDG.E.STRONG.GPU", "LDC.64", "LD.E.64", "REDG.E.ADD.STRONG.GPU", "ATOMS.ADD"):
            self.assertEqual(self.with_instruction(name), [], name)

    def test_allowed_with_a_reason(self):
        entry = {"instance": "small", "rule": "non-coherent load", "at_most": 1, "reason": "a table of constants"}
        self.assertEqual(self.with_instruction("LDG.E.CONSTANT", {**LIMITS, "allowed": [entry]}), [])


class budget_test(unittest.TestCase):
    def costing(self, **cost):
        found = measured()
        found["small"]["compilation"].update(cost)
        return problems(found)

    def test_budgets(self):
        self.assertEqual(self.costing(cpu_s=59), [])
        self.assertEqual(len(self.costing(cpu_s=61)), 1)
        self.assertEqual(len(self.costing(peak_mb=3001)), 1)

    def test_an_instance_without_a_note_fails(self):
        found = measured()
        found["small"]["compilation"] = {}
        self.assertEqual(len(problems(found)), 1)


unittest.main()
