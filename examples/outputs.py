"""What pages say that examples print is what they print.

A block of text follows a comment: `<!-- output: NAME -->` for all that example-NAME prints, `<!-- output: NAME N -->` for
the N-th part, parts being separated by empty lines. Examples that this build does not have are left out.

outputs.py FOLDER           runs the examples in FOLDER and fails where a page says something else
outputs.py FOLDER --write   corrects the pages
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(<!-- output: (\w+)(?: (\d+))? -->\n```text\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)


def printed(folder, name, part, cache={}):
    if name not in cache:
        cache[name] = subprocess.run([folder / f"example-{name}"], check=True, capture_output=True, text=True).stdout
    text = cache[name].strip("\n")
    return (text.split("\n\n")[int(part) - 1] if part else text) + "\n"


def main(folder, write):
    differing = 0
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        page = path.read_text(encoding="utf-8")
        right = BLOCK.sub(lambda m: m.group(1) + printed(folder, m.group(2), m.group(3)) + m.group(5)
                          if (folder / f"example-{m.group(2)}").is_file() else m.group(), page)
        if right == page:
            continue
        differing += 1
        if write:
            path.write_text(right, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {'corrected' if write else 'an example prints something else'}")
    return 1 if differing and not write else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:] == ["--write"]))
