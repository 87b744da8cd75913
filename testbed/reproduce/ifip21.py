# SPDX-License-Identifier: Apache-2.0
"""Reproduces three results of *Updating the Theory of Buffer Sizing* (Spang, Arslan,
McKeown, Performance 2021) from the tables its authors published.

* Figure 5a: smallest buffer with full utilisation per algorithm and number of flows,
  with BDP/sqrt(n) and the single-flow rules of section 3.5.
* Figure 10: mean number of flows with a loss in the intervals that had one, with
  sqrt(n) + n^2/(2B) of Theorem 5.
* Figure 11: how unfair windows are over the number of flows and over the buffer, compared with
  what section 5.6 says of it.

Usage: python testbed/reproduce/ifip21.py --data DIR --out DIR
DIR of --data holds generalized_test.csv, drops_per_2ms.csv and calculated_deltas.csv.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
from tidemark_lab.markdown import table as markdown_table
from tidemark_lab.papers.authors import (
    BDP_PACKETS,
    FairKey,
    Key,
    fairness,
    rows,
    smallest_full_buffer,
)
from tidemark_lab.theory import BBR_DRAIN, BETA, most_with_loss

# No display is needed.
plt.switch_backend("Agg")

DROPS_BUFFER_PKTS = 15_000 * 80 / 9000
"""Limit of the runs in drops_per_2ms.csv: 15 000 cells of 80 bytes."""
INTERVAL_MS = 5
"""Length of the intervals of drops_per_2ms.csv, in spite of its name."""
FAIRNESS_FLOWS = 16
"""Number of flows in Figure 11b."""
LARGEST_SAID = {"cubic": 4, "reno": 4, "scalable": 4, "bbr": 10}
"""Section 5.6: "For Cubic, Reno, and Scalable, Delta is about 4. For BBR, it is about 10"."""
LARGEST_FACTOR = 1.5
"""Tolerance for "about": the mean over the buffers is within this factor."""
SMALLEST_SAID = 0.5
"""Value that the fair window over the smallest window "approaches" as the buffer grows."""
SMALLEST_FACTOR = 2.0
LABEL = {"reno": "Reno", "cubic": "CUBIC", "scalable": "Scalable", "bbr": "BBR"}
COLOUR = {"reno": "#1b6ca8", "cubic": "#d1495b", "scalable": "#66a182", "bbr": "#8d6a9f"}


def flows_with_loss(path: Path) -> dict[Key, float]:
    """Mean number of flows that lost, over the intervals with a loss (drop-tail runs)."""
    columns = ["algorithm", "action", "num_flows", "num_dropped_flows"]
    counts: dict[Key, list[float]] = defaultdict(list)
    for row in rows(path, columns):
        flows = float(row["num_dropped_flows"])
        if row["action"] == "drop" and flows > 0:
            counts[(row["algorithm"], int(float(row["num_flows"])))].append(flows)
    return {key: sum(v) / len(v) for key, v in counts.items()}


def over_buffer(found: dict[FairKey, tuple[float, ...]], algorithm: str) -> list[tuple[float, ...]]:
    """Returns (buffer, values) for the flows of Figure 11b."""
    return sorted(
        (b, *v) for (a, n, b), v in found.items() if (a, n) == (algorithm, FAIRNESS_FLOWS)
    )


def said_of_fairness(
    found: dict[FairKey, tuple[float, ...]],
) -> list[tuple[str, str, float, bool]]:
    """Section 5.6's statements on Figure 11b: name, the paper's words, the table's value, and
    whether it is within its tolerance."""
    checks = []
    for algorithm, said in LARGEST_SAID.items():
        points = over_buffer(found, algorithm)
        if len(points) < 2:
            continue
        label = LABEL[algorithm]
        mean = sum(p[1] for p in points) / len(points)
        near = said / LARGEST_FACTOR <= mean <= said * LARGEST_FACTOR
        checks.append((f"{label}: largest over fair, mean over B", f"about {said}", mean, near))
        growth = points[-1][1] / points[0][1]
        same = 1 / LARGEST_FACTOR <= growth <= LARGEST_FACTOR
        what = f"{label}: largest over fair, at the largest B over the smallest"
        checks.append((what, "does not depend on B", growth, same))
        fall, last = points[-1][2] / points[0][2], points[-1][2]
        what = f"{label}: fair over smallest"
        checks.append((f"{what}, at the largest B over the smallest", "decreases", fall, fall < 1))
        near = SMALLEST_SAID / SMALLEST_FACTOR <= last <= SMALLEST_SAID * SMALLEST_FACTOR
        checks.append((f"{what}, at the largest B", f"approaches {SMALLEST_SAID:g}", last, near))
    return checks


def draw_fairness(found: dict[FairKey, tuple[float, ...]], out: Path) -> list[Path]:
    """Draws Figure 11: over the flows with a full buffer, and over the buffer."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0), layout="constrained")
    for algorithm, label in LABEL.items():
        # The buffer closest to a BDP.
        sizes = {b for a, _, b in found if a == algorithm}
        full = min(sizes, key=lambda b: abs(b - BDP_PACKETS), default=0.0)
        points = sorted((n, *v) for (a, n, b), v in found.items() if (a, b) == (algorithm, full))
        for axes, seen in ((left, points), (right, over_buffer(found, algorithm))):
            x = [p[0] for p in seen]
            axes.plot(x, [p[1] for p in seen], "o-", color=COLOUR[algorithm], label=label)
            axes.plot(x, [p[2] for p in seen], "o--", color=COLOUR[algorithm], markersize=3)
    left.set(xscale="log", xlabel="flows n, B = BDP", ylabel="solid: largest over fair window")
    right.set(xlabel=f"B (packets), n = {FAIRNESS_FLOWS}", ylabel="dashed: fair over smallest")
    for axes in (left, right):
        axes.set_yscale("log")
    left.legend(frameon=False)
    return save(figure, out / "ifip21-fairness")


def sqrt_rule_pkts(flows: float, delta: float = 1.0) -> float:
    """Buffer Delta*BDP/sqrt(n) (Theorems 5-6)."""
    return delta * BDP_PACKETS / math.sqrt(flows)


def single_flow_pkts(algorithm: str) -> float:
    """Buffer for full utilisation by one flow (section 3.5)."""
    return BDP_PACKETS * (BBR_DRAIN if algorithm == "bbr" else 1 / BETA[algorithm] - 1)


def allowed_flows(flows: float, buffer_pkts: float = DROPS_BUFFER_PKTS) -> float:
    """sqrt(n) + n^2/(2B), drawn in the paper next to the measurement."""
    return most_with_loss(flows, buffer_pkts)


def series(values: dict[Key, float], algorithm: str) -> tuple[list[int], list[float]]:
    flows = sorted(n for a, n in values if a == algorithm)
    return flows, [values[(algorithm, n)] for n in flows]


def draw(buffers: dict[Key, float], losses: dict[Key, float], out: Path) -> list[Path]:
    """Draws both figures as PNG and SVG."""
    grid = [2 ** (i / 8) for i in range(57)]
    figure, axes = over_flows(buffers)
    for algorithm in LABEL:
        axes.plot([1], [single_flow_pkts(algorithm)], "x", color=COLOUR[algorithm])
    axes.plot(grid[:49], [sqrt_rule_pkts(n) for n in grid[:49]], "k--", label=r"BDP/$\sqrt{n}$")
    axes.plot([], [], "kx", label="single-flow rule (section 3.5)")
    axes.set(
        ylabel="smallest full buffer (packets of 9000 bytes)",
        title="Smallest buffer with 99 % of packets meeting a queue",
    )
    plain_ticks(axes, [1, 2, 4, 8, 16, 32, 64], [10, 20, 50, 100, 200])
    axes.legend(frameon=False, loc="lower left", fontsize="small", ncols=2)
    axes.set_ylim(bottom=4)
    written = save(figure, out / "ifip21-buffer")

    figure, axes = over_flows(losses)
    axes.plot(grid, [allowed_flows(n) for n in grid], "k--", label=r"$\sqrt{n} + n^2/(2B)$")
    axes.set(
        ylabel="flows with a loss",
        title=f"Flows with a loss, mean over the {INTERVAL_MS} ms intervals that had one",
    )
    plain_ticks(axes, [1, 2, 4, 8, 16, 32, 64, 128], [1, 2, 5, 10, 20, 50])
    axes.legend(frameon=False)
    return written + save(figure, out / "ifip21-losses")


def over_flows(values: dict[Key, float]):
    """Makes a figure with a line for each algorithm."""
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for algorithm, label in LABEL.items():
        x, y = series(values, algorithm)
        axes.plot(x, y, "o-", color=COLOUR[algorithm], label=label, markersize=4)
    axes.set(xscale="log", yscale="log", xlabel="flows n")
    return figure, axes


def plain_ticks(axes, x: list[int], y: list[int]) -> None:
    """Labels the axes with plain numbers at these values, instead of powers of ten."""
    axes.set_xticks(x, [str(v) for v in x])
    axes.set_yticks(y, [str(v) for v in y])
    axes.minorticks_off()


def save(figure, stem: Path) -> list[Path]:
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    for path in paths:
        figure.savefig(path, dpi=150)
    plt.close(figure)
    return paths


def table(buffers: dict[Key, float], losses: dict[Key, float]) -> str:
    """Formats both results as Markdown."""
    smallest = "\n".join(grid(buffers, "BDP/√n", sqrt_rule_pkts, 0))
    losing = "\n".join(grid(losses, "√n + n²/(2B)", allowed_flows, 2))
    return (
        f"Smallest full buffer, packets of 9000 bytes:\n\n{smallest}\n\n"
        f"Flows with a loss, mean over intervals with one:\n\n{losing}"
    )


def grid(values: dict[Key, float], law: str, of: Callable[[float], float], digits: int):
    """Returns lines with a column for each algorithm, and the paper's law."""
    rows = []
    for n in sorted({n for _, n in values}):
        found = [*(values.get((a, n)) for a in LABEL), of(n)]
        rows.append([str(n), *("-" if v is None else f"{v:.{digits}f}" for v in found)])
    return markdown_table(("n", *LABEL.values(), law), rows)


def fairness_table(checks: list[tuple[str, str, float, bool]]) -> str:
    """Compares the paper's statements on Figure 11b with its table, as Markdown."""
    rows = [(w, p, f"{v:.2f}", "agrees" if a else "DISAGREES") for w, p, v, a in checks]
    lines = markdown_table(("what", "paper", "authors' table", ""), rows)
    return "\n".join(["", f"Fairness of {FAIRNESS_FLOWS} flows (Fig. 11b):", "", *lines])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="directory of the tables")
    parser.add_argument("--out", type=Path, required=True, help="directory for the figures")
    args = parser.parse_args(arguments)
    try:
        buffers = smallest_full_buffer(args.data / "generalized_test.csv")
        losses = flows_with_loss(args.data / "drops_per_2ms.csv")
        fair = fairness(args.data / "calculated_deltas.csv")
    except (OSError, ValueError) as error:
        print(f"ifip21: {error}", file=sys.stderr)
        return 1
    args.out.mkdir(parents=True, exist_ok=True)
    checks = said_of_fairness(fair)
    text = table(buffers, losses) + "\n" + fairness_table(checks)
    (args.out / "ifip21.md").write_text(text + "\n")
    values = {
        "smallest_full_buffer_pkts": {f"{a},{n}": v for (a, n), v in sorted(buffers.items())},
        "flows_with_loss": {f"{a},{n}": v for (a, n), v in sorted(losses.items())},
        "fairness": {f"{a},{n},{b:g}": v for (a, n, b), v in sorted(fair.items())},
        "fairness_said": [
            {"what": w, "paper": p, "table": v, "agrees": a} for w, p, v, a in checks
        ],
    }
    (args.out / "ifip21.json").write_text(json.dumps(values, indent=1) + "\n")
    print(text)
    for path in [*draw(buffers, losses, args.out), *draw_fairness(fair, args.out)]:
        print(f"figure: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
