"""One SHA-256 over the sources that decide what the device does, wherever the checkout is: device_hash.py prints it."""

import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECEIPT = "tests/cuda/receipt.json"
DECIDING = re.compile(r"tylo/(?!emulator/)|ops/.*\.hpp$|runtime/(device|gpu|cuda|kernels)/|"
                      r"cmake/megakernels-add-kernel\.cmake$|tests/(cuda|probes)/")


def sources(root=ROOT):
    """Paths relative to the root, sorted, with files that are new and not ignored. Without git: all files."""
    try:
        # The checkout may belong to another user.
        listing = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, check=True, capture_output=True, text=True).stdout
        names = set(listing.split("\0")[:-1])
    except (OSError, subprocess.CalledProcessError):
        names = {path.relative_to(root).as_posix() for path in root.rglob("*")}
    return sorted(name for name in names
                  if DECIDING.match(name) and name != RECEIPT and "__pycache__" not in name and (root / name).is_file())


def device_hash(root=ROOT):
    whole = hashlib.sha256()
    for name in sources(root):
        whole.update(f"{name}\0{hashlib.sha256((root / name).read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


if __name__ == "__main__":
    print(device_hash())
