#!/usr/bin/env python3
"""Draws latency and bandwidth over size, of gyre and all its peers, from gyre-bench's JSON file.

Usage: plot.py FIGURES.json PICTURE.svg
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

# Distinct for colour-blind readers too (Okabe and Ito's palette), and by marker.
STYLES = {
    "gyre": ("#000000", "o"),
    "openmpi": ("#D55E00", "s"),
    "mpich": ("#0072B2", "^"),
    "gloo": ("#CC79A7", "v"),
    "impi": ("#009E73", "D"),
    "openmpi5": ("#E69F00", "P"),
    "mpich5": ("#56B4E9", "X"),
}


def size_text(size: float, _position=None) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


def curves(rows: list[dict]) -> dict[str, list[tuple[float, float]]]:
    """Library -> (size, microseconds), in the order in which they are drawn."""
    found = {"gyre": [(row["size"], row["time_us"]) for row in rows]}
    for row in rows:
        for peer, figure in row.get("peers", {}).items():
            if "time_us" in figure:
                found.setdefault(peer, []).append((row["size"], figure["time_us"]))
    return found


def bus_factor(collective: str, ranks: int) -> float:
    """busbw / algbw, as nccl-tests defines it."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return 1.0 if collective == "broadcast" else (ranks - 1) / ranks


def draw(figures: dict, picture: Path) -> None:
    options = figures["options"]
    first = figures["rows"][0]
    rows = [row for row in figures["rows"]
            if (row["dtype"], row["op"]) == (first["dtype"], first["op"])]
    factor = bus_factor(options["collective"], options["ranks"])
    plt.rcParams.update({"font.size": 11, "svg.hashsalt": "gyre", "axes.spines.top": False,
                         "axes.spines.right": False})
    figure, (latency, bandwidth) = plt.subplots(1, 2, figsize=(13, 5.6))
    for name, points in curves(rows).items():
        color, marker = STYLES.get(name, ("#777777", "."))
        sizes = [size for size, _ in points]
        line = {"color": color, "marker": marker, "markersize": 4.5, "label": name,
                "linewidth": 2.2 if name == "gyre" else 1.3, "zorder": 3 if name == "gyre" else 2}
        latency.plot(sizes, [time for _, time in points], **line)
        bandwidth.plot(sizes, [size * factor / time / 1e3 for size, time in points], **line)
    latency.set(title="Time of one call", ylabel="microseconds", yscale="log")
    bandwidth.set(title="Bus bandwidth", ylabel="GB/s")
    bandwidth.set_ylim(bottom=0)
    sizes = [row["size"] for row in rows]
    ticks = [size for size in (8 * 8 ** k for k in range(14))
             if min(sizes) <= size <= max(sizes)] or sizes
    for axes in (latency, bandwidth):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("size")
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(size_text))
        axes.tick_params(axis="x", rotation=45)
        axes.grid(True, which="major", color="#dddddd", linewidth=0.7)
    latency.legend(frameon=False)
    machine = figures["machine"]
    figure.suptitle(
        f"{options['collective']}, {options['ranks']} {options['ranks_are']}, {first['dtype']}, "
        f"buffers {options['buffers']}, {options['memory']} memory\n"
        f"{machine['cpu']}, {len(machine['cpus'])} cpus; gyre {figures['commit']}", fontsize=11)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    figures = json.loads(Path(sys.argv[1]).read_text())
    if not figures["rows"]:
        print(f"{sys.argv[1]} has no rows: nothing to draw", file=sys.stderr)
        return 1
    draw(figures, Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
