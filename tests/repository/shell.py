"""The shell scripts are free of what shellcheck finds."""

import shutil
import subprocess

from repository import ROOT, files, report, skip, text

if not shutil.which("shellcheck"):
    skip("shellcheck is not installed")
scripts = [str(path) for path in files() if path.suffix == ".sh" or text(path).startswith("#!/usr/bin/env bash")]
result = subprocess.run(["shellcheck", "--external-sources", *scripts], cwd=ROOT, capture_output=True, text=True)
report(result.stdout.splitlines() if result.returncode else [])
