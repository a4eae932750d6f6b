"""A compiler launcher: runs nvcc and notes what the compilation cost.

compile_record.py COMPILER ARGUMENT... -o OBJECT ARGUMENT... writes OBJECT.compile.json: CPU seconds and the largest
resident size of one compiler process, and what ptxas -v says of each kernel, which does not reach the terminal.
"""

import json
import pathlib
import re
import resource
import subprocess
import sys

PTXAS = re.compile(r"ptxas info\b|\s+\d+ bytes stack frame,")


def main(command):
    compiler = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    ptxas = []
    for line in compiler.stderr.splitlines():
        if PTXAS.match(line):
            ptxas.append(line)
        else:
            print(line, file=sys.stderr)
    if compiler.returncode == 0 and "-o" in command:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        record = {"cpu_s": round(usage.ru_utime + usage.ru_stime, 2), "peak_mb": round(usage.ru_maxrss * 1024 / 1e6),
                  "ptxas": ptxas}
        target = pathlib.Path(command[command.index("-o") + 1] + ".compile.json")
        target.write_text(json.dumps(record, indent=1) + "\n")
    return compiler.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
