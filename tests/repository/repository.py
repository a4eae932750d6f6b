"""What the checks of this folder share: the files of the repository, and the way to report."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
PARTS = ("tylo", "ops", "scheduler", "runtime")


def files(*suffixes):
    """The tracked files with one of these suffixes (all without one), relative to ROOT and sorted. Without git or its
    folder, as in an archive of the sources: every file outside of build folders."""
    try:
        # The checkout may belong to another user than the one who tests it.
        names = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT, check=True,
                               capture_output=True, text=True).stdout.split("\0")[:-1]
        paths = [pathlib.Path(name) for name in names]
    except (OSError, subprocess.CalledProcessError):
        paths = [path.relative_to(ROOT) for path in ROOT.rglob("*")]
        paths = [path for path in paths if path.parts[0] not in ("build", ".git", ".venv")]
    return sorted(path for path in paths if (ROOT / path).is_file() and (not suffixes or path.suffix in suffixes))


def sources():
    return files(".hpp", ".cpp", ".cuh", ".cu")


def text(path):
    """The text of a file, empty where it is none."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def lines(path):
    """(number, line) of each line of a text file."""
    return enumerate(text(path).splitlines(), start=1)


def skip(reason):
    print(f"Skipped\n{reason}")
    sys.exit(SKIPPED)


def report(problems):
    """Prints the problems and exits: with 1 where there are any."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
