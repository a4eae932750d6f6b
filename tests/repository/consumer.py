"""A project outside of this one builds and runs with what was installed, and can take the sources in.

consumer.py CMAKE BUILD_FOLDER; with MK_LONG set it also builds and runs with the sources.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from repository import ROOT, report

cmake, build_folder = sys.argv[1:]


def run(*command):
    result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        report([" ".join(map(str, command)), result.stdout])


def configure(folder, *options):
    run(cmake, "-S", ROOT / "tests/consumer", "-B", folder, "-G", "Ninja", *options)


def build_and_run(folder):
    run(cmake, "--build", folder)
    run(folder / "consumer")


with tempfile.TemporaryDirectory() as name:
    temporary = pathlib.Path(name)
    run(cmake, "--install", build_folder, "--prefix", temporary / "prefix")
    for path in (temporary / "prefix").rglob("*.cmake"):
        if str(ROOT) in path.read_text():
            report([f"the installed {path.name} names the source folder"])

    configure(temporary / "installed", f"-DCMAKE_PREFIX_PATH={temporary / 'prefix'}")
    build_and_run(temporary / "installed")

    configure(temporary / "sources", f"-DMEGAKERNELS_SOURCE={ROOT}")
    if os.environ.get("MK_LONG"):
        build_and_run(temporary / "sources")
