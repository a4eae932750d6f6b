"""What README.md and docs/*.md show is what the project holds.

A block of C++ follows a comment that says where it is compiled: `<!-- snippet: FILE -->` for a whole file,
`<!-- snippet: FILE#NAME -->` for the lines between `// [NAME]` and `// [/NAME]`. A block of shell names commands of ./mk
that exist. A relative link leads to a file.
"""

import re
import textwrap

from repository import ROOT, files, report, text

BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SNIPPET = re.compile(r"<!-- snippet: ([^\s#]+)(?:#(\S+))? -->\s*$")
LINK = re.compile(r"\]\(([^)#\s]+)")


def compiled(source, region):
    """The text that a snippet must equal, or None where there is no such file or region."""
    if not (ROOT / source).is_file():
        return None
    if not region:
        return text(source)
    name = re.escape(region)
    found = re.search(rf"^ *// \[{name}\]\n(.*?)^ *// \[/{name}\]$", text(source), re.MULTILINE | re.DOTALL)
    return textwrap.dedent(found.group(1)) if found else None


def snippet_problem(page, start, shown):
    marker = SNIPPET.search(page[:start])
    if not marker:
        return "no comment says where this C++ is compiled"
    source, region = marker.groups()
    expected = compiled(source, region)
    where = f"{source}#{region}" if region else source
    if expected is None:
        return f"there is no {where}"
    return None if expected.strip() == shown.strip() else f"this differs from {where}"


def mk_commands():
    return set(re.findall(r"[\w-]+", " ".join(re.findall(r"^  ([a-z |-]+)\) ", text("mk"), re.MULTILINE))))


def problems():
    commands = mk_commands()
    for path in files(".md"):
        if path.parts[0] != "docs" and path.name != "README.md":
            continue
        page = text(path)
        for block in BLOCK.finditer(page):
            place = f"{path}:{page.count(chr(10), 0, block.start()) + 1}"
            indent, language, shown = block.groups()
            if language in ("cpp", "c++", "cuda"):
                problem = snippet_problem(page, block.start(), textwrap.dedent(shown))
                if problem:
                    yield f"{place}: {problem}"
        for command in re.finditer(r"\./mk +([\w-]+)", page):
            if command.group(1) not in commands:
                yield f"{path}:{page.count(chr(10), 0, command.start()) + 1}: there is no {command.group()}"
        prose = BLOCK.sub(lambda block: "\n" * block.group().count("\n"), page)
        for link in LINK.finditer(prose):
            if "://" not in link.group(1) and not (ROOT / path.parent / link.group(1)).exists():
                yield f"{path}:{prose.count(chr(10), 0, link.start()) + 1}: there is no {link.group(1)}"


report(list(problems()))
