"""Makes the tables and plots of README.md and docs/*.md from benchmarks/results/*.jsonl.

A table stands between `<!-- table: NAME -->` and `<!-- /table -->` and has the newest figures of all benchmarks whose
names begin with NAME/. Where a page shows plots/NAME.svg (/ becomes -), it is drawn: how close they come to their limits.

report.py           writes them
report.py --check   prints what differs from the results, and fails where anything does
"""

import html
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results"
PLOTS = ROOT / "docs/plots"
TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- /table -->)", re.DOTALL)
KEYS = {"bench", "unit", "median", "p10", "p90", "runs", "verdict", "device", "commit", "date"}


def newest_figures():
    """{device: {bench: figure}}, in the order of the files; of a name the last line counts."""
    devices = {}
    for path in sorted(RESULTS.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            figure = json.loads(line)
            missing = sorted(KEYS - figure.keys())
            if missing or not figure["verdict"]:
                sys.exit(f"{path.name}:{number}: a figure needs {', '.join(missing) or 'a verdict'}")
            figures = devices.setdefault(figure["device"], {})
            figures[figure["bench"]] = figure
    return devices


def digits(value):
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    places = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{places}f}"


def with_unit(value, unit):
    """Times in the unit in which they have few digits."""
    if unit == "us":
        for larger, factor in (("s", 1e6), ("ms", 1e3)):
            if value >= factor:
                return f"{digits(value / factor)} {larger}"
        if value < 1:
            return f"{digits(value * 1e3)} ns"
    return f"{digits(value)} {unit}"


def spread(figure):
    low, high = (with_unit(figure[name], figure["unit"]) for name in ("p10", "p90"))
    same_unit = low.split()[-1] == high.split()[-1]
    return f"{low.split()[0] if same_unit else low} to {high}"


def share(figure):
    """How close a figure comes to its limit: 1 is as good as can be. None without a limit."""
    if not figure.get("limit"):
        return None
    is_time = figure["unit"] == "us"
    return figure["limit"] / figure["median"] if is_time else figure["median"] / figure["limit"]


def selected(figures, prefix):
    return [figure for name, figure in sorted(figures.items()) if name.startswith(prefix + "/")]


def table(devices, prefix):
    lines = []
    for device, figures in devices.items():
        rows = selected(figures, prefix)
        if not rows:
            continue
        baselines = sorted({name for row in rows for name in row.get("baselines", {})})
        heads = ["figure", "median", "p10 to p90", "limit", "share", *baselines, "checked"]
        lines += [f"{device}:", "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        for row in rows:
            unit = row["unit"]
            reached = share(row)
            others = [row.get("baselines", {}).get(name) for name in baselines]
            cells = [f"`{row['bench']}`", with_unit(row["median"], unit),
                     spread(row),
                     with_unit(row["limit"], unit) if reached is not None else "",
                     f"{reached:.0%}" if reached is not None else "",
                     *("" if value is None else with_unit(value, unit) for value in others), row["verdict"]]
            lines.append("| " + " | ".join(cells) + " |")
        made = sorted({(row["date"], row["commit"]) for row in rows})
        lines += ["", "Measured " + ", ".join(f"{date} (commit {commit})" for date, commit in made) + ".", ""]
    return "\n".join(lines) if lines else "No figures yet.\n"


STYLE = """
    .panel { fill: #ffffff; } .bar { fill: #5b82c4; } .limit { stroke: #8a94a6; stroke-dasharray: 4 3; }
    text { font: 13px sans-serif; fill: #1d2733; } .note { fill: #5a6675; font-size: 12px; }
    @media (prefers-color-scheme: dark) {
      .panel { fill: #161b22; } .bar { fill: #7aa2e3; } .limit { stroke: #6b7688; }
      text { fill: #e3e9f1; } .note { fill: #a3afbf; }
    }
"""


def plot(devices, prefix):
    """Bars of the shares of the limits, or None where no figure has one."""
    parts, y = [], 20
    for device, figures in devices.items():
        rows = [row for row in selected(figures, prefix) if share(row) is not None]
        if not rows:
            continue
        parts.append(f'<text class="note" x="16" y="{y + 12}">{html.escape(device)}: share of the limit</text>')
        y += 24
        largest = max(1.0, *(share(row) for row in rows))
        scale = 420 / largest
        for row in rows:
            width = share(row) * scale
            parts += [f'<text x="16" y="{y + 16}">{html.escape(row["bench"])}</text>',
                      f'<rect class="bar" x="300" y="{y + 3}" width="{width:.1f}" height="16"/>',
                      f'<text x="{300 + width + 8:.1f}" y="{y + 16}">{share(row):.0%}, '
                      f'{html.escape(with_unit(row["median"], row["unit"]))}</text>']
            y += 24
        edge = 300 + scale
        parts.append(f'<path class="limit" d="M{edge:.1f} {y - 24 * len(rows)} V{y}"/>')
        y += 16
    if not parts:
        return None
    body = "\n  ".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {y}" role="img">\n  <style>{STYLE}  </style>\n'
            f'  <rect class="panel" width="900" height="{y}" rx="8"/>\n  {body}\n</svg>\n')


def outputs():
    """{path: text} of every page and plot as it should be."""
    devices = newest_figures()
    result, prefixes, shown = {}, set(), set()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        page = path.read_text(encoding="utf-8")
        prefixes.update(match.group(2) for match in TABLE.finditer(page))
        shown.update(re.findall(r"plots/([\w-]+)\.svg", page))
        result[path] = TABLE.sub(lambda m: m.group(1) + "\n" + table(devices, m.group(2)) + "\n" + m.group(3), page)
    for prefix in sorted(prefixes):
        name = prefix.replace("/", "-")
        drawing = plot(devices, prefix) if name in shown else None
        if drawing:
            result[PLOTS / f"{name}.svg"] = drawing
    return result


def main(arguments):
    differing = [path for path, text in outputs().items()
                 if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if arguments == ["--check"]:
        for path in differing:
            print(f"{path.relative_to(ROOT)} is not what benchmarks/report.py makes of the results")
        return 1 if differing else 0
    if arguments:
        sys.exit(__doc__)
    made = outputs()
    for path in differing:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
