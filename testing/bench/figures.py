# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmarks' raw output, each with its unit and target."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure. `wanted` is a bound in the same unit; `None` if there is no target."""

    name: str
    text: str
    value: float
    unit: str
    more_is_better: bool = True
    wanted: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Returns whether the target is met; `None` if there is none."""
        if self.wanted is None:
            return None
        return self.value >= self.wanted if self.more_is_better else self.value <= self.wanted


def collector(raw: dict) -> list[Row]:
    """Rows of `make bench-collector`: millions of items per second."""
    rows = []
    for name, row in raw.items():
        wanted = row["target"] / 1e6 or None
        rows.append(Row(name, row["what"], row["value"] / 1e6, "M/s", True, wanted, row["note"]))
    return rows


def controller(raw: dict) -> list[Row]:
    """Rows of `make bench-controller`, from the program or from simulated time."""
    names = {
        "cpu_cores": ("CPU time of the program", "cores", False, 1.0),
        "taking_cpu_cores": ("taking telemetry", "cores", False, None),
        "estimating_cpu_cores": ("estimates and advice", "cores", False, None),
        "cpu_us_per_link_s": ("CPU time per link and second", "µs", False, None),
        "rss_mib": ("memory", "MiB", False, 2048.0),
        "share_estimated": ("links estimated each second", "of all", True, 0.95),
        "share_advised": ("links advised each second", "of all", True, 0.95),
        "records_per_s": ("interval records taken", "1/s", True, None),
    }
    found = ((name, names[name], raw[name]) for name in names if name in raw)
    return [Row(name, t, v, unit, more, wanted) for name, (t, unit, more, wanted), v in found]


def switch(raw: dict) -> list[Row]:
    """Rows of `make bench-switch`; first the shares of the repeater's rate without a program."""
    best = {(r["size_bytes"], r["side"]): r["best"] for r in raw["sizes"] if r["best"]}
    rows = []
    for (size, side), row in best.items():
        bare = best.get((size, f"{side} without program"))
        if bare is not None:
            share = row["offered_pps"] / bare["offered_pps"]
            cpu = bare["device_cpu_ns"] / row["device_cpu_ns"]
            text = f"{size} bytes, {side}: share of a repeater without a program"
            note = f"by CPU time {cpu:.2f}"
            rows.append(Row(f"share-{size}-{side}", text, share, "of its rate", True, 0.6, note))
    for (size, side), row in best.items():
        note = f"{row['device_cpu_ns']:.0f} ns of CPU each"
        text = f"{size} bytes, {side}"
        rows.append(Row(f"rate-{size}-{side}", text, row["offered_pps"] / 1e3, "kpps", note=note))
    for (size, side), row in best.items():
        bmv2 = best.get((size, "bmv2"))
        if bmv2 is not None and side in ("singles", "supers"):
            ratio = row["offered_pps"] / bmv2["offered_pps"]
            rows.append(
                Row(f"bmv2-{size}-{side}", f"{size} bytes, {side}, to BMv2", ratio, "times")
            )
    return rows


def pipeline(raw: dict) -> list[Row]:
    """Rows of the switch's pipeline by itself, without sockets."""
    return [Row(name, name, v / 1e6, "Mpps") for name, v in raw.items()]


def watching(raw: dict) -> list[Row]:
    """Rows of `make bench-watching`: the ways of watching next to each other."""
    rows = []
    for name, r in raw["ways"].items():
        if name != "none":
            text = f"goodput with {r['what']}, to none"
            wanted = 0.98 if name == "agent" else None
            rows.append(Row(f"goodput-{name}", text, r["goodput_ratio"], "times", wanted=wanted))
    for name, r in raw["ways"].items():
        rows.append(
            Row(f"cpu-{name}", f"CPU per GB, {r['what']}", r["cpu_s_per_gb"], "s/GB", False)
        )
    return rows


READERS: dict[str, Callable[[dict], list[Row]]] = {
    "collector": collector,
    "controller": controller,
    "pipeline": pipeline,
    "switch": switch,
    "watching": watching,
}


def table(rows: Iterable[Row]) -> str:
    """Formats the rows as a Markdown table."""
    lines = ["| figure | measured | wanted | |", "|---|---|---|---|"]
    for r in rows:
        wanted = "" if r.wanted is None else f"{'≥' if r.more_is_better else '≤'} {r.wanted:.4g}"
        note = ("" if r.met in (None, True) else "not reached; ") + r.note
        lines.append(
            f"| {r.text} | {r.value:.4g} {r.unit} | {wanted} | {note.removesuffix('; ')} |"
        )
    return "\n".join(lines) + "\n"
