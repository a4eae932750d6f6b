"""Every source file is formatted as .clang-format says (./mk format does it)."""

import shutil
import subprocess

from repository import ROOT, report, skip, sources

FORMATTER = "clang-format-19"

if not shutil.which(FORMATTER):
    skip(f"{FORMATTER} is not installed")
paths = [str(path) for path in sources()]
result = subprocess.run([FORMATTER, "--dry-run", "-Werror", *paths], cwd=ROOT, capture_output=True, text=True)
report([line for line in result.stderr.splitlines() if "error:" in line] if result.returncode else [])
