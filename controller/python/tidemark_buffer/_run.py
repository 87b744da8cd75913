# SPDX-License-Identifier: Apache-2.0
"""A recorded run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tidemark_buffer._native import NativeRun, NativeTable
from tidemark_buffer._picture import Origin
from tidemark_buffer._table import Table
from tidemark_buffer._verdict import Verdict


class Phase(NamedTuple):
    """A span of a run on one link."""

    name: str
    """Name in the run's record; without a record ``run``, or ``limit-1``, ``limit-2`` and so on
    if the limit changed."""
    node_id: int
    """Node id of the switch."""
    egress_port: int | None
    """Egress port; None if reports do not tell it."""
    from_ns: int
    """Start, ns on the switch's clock."""
    to_ns: int
    """End, exclusive, on the same clock."""
    queue: int
    """Queue of the port."""


class Run:
    """A recorded run: the directory that ``make demo`` or an experiment writes, or its capture.

    At first only ``capture.json`` and the run's record are read. Estimates read the whole
    capture once and keep its interval records, as ``tidemark-controller analyze`` does.

    :raises RunError: there is no capture, or several, or it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._native = NativeRun(self._path)

    @property
    def path(self) -> Path:
        """The given path."""
        return self._path

    @property
    def capture(self) -> Path:
        """Directory of the capture."""
        return self._native.capture

    @property
    def meta(self) -> dict[str, Any]:
        """``capture.json``: versions, nodes and units, clocks, counters, ``rows_lost``."""
        return dict(json.loads(self._native.meta()))

    @property
    def targets(self) -> dict[str, Any]:
        """Targets of the run's record, or else the default: ``utilisation`` and ``loss_rate`` as
        fractions, ``delay_ms``, ``priority``, ``confidence``, ``margin``."""
        return dict(json.loads(self._native.targets()))

    def packets(
        self,
        columns: Sequence[str] | None = None,
        *,
        from_s: float | None = None,
        to_s: float | None = None,
        from_ns: int | None = None,
        to_ns: int | None = None,
        flow_id: int | None = None,
    ) -> Table:
        """Every reported packet, with the addresses of its flow.

        :param columns: only these, in this order. Columns are those of ``postcards`` in the
            capture format, then ``src``, ``dst`` (text), ``src_port``, ``dst_port`` and
            ``protocol``, null if the flow was not described.
        :param from_s: only packets that arrived at least this many seconds after the first packet
            of their node.
        :param to_s: only packets that arrived less than this many seconds after it.
        :param from_ns: only packets that arrived at this time of the switch's clock or later;
            :meth:`phases` returns such times.
        :param to_ns: only packets that arrived before this time of the switch's clock.
        :param flow_id: only packets of this flow.
        """
        span = (from_s, to_s, from_ns, to_ns)
        return Table(self._table("postcards", columns, span, flow_id, joined=True))

    def samples(
        self,
        columns: Sequence[str] | None = None,
        *,
        from_s: float | None = None,
        to_s: float | None = None,
        from_ns: int | None = None,
        to_ns: int | None = None,
        flow_id: int | None = None,
    ) -> Table:
        """Every sample of a sender's state (``tcp_probe``), with the addresses of its flow.

        Parameters as for :meth:`packets`; times are ``time_ns``, on the clock of the node that
        reports the flow.
        """
        span = (from_s, to_s, from_ns, to_ns)
        return Table(self._table("tcp_probe", columns, span, flow_id, joined=True))

    def events(self, columns: Sequence[str] | None = None) -> Table:
        """Every other row of the capture: flows, retransmissions, congestion states, clock
        mappings. ``kind`` says which columns have a value."""
        span = (None, None, None, None)
        return Table(self._table("events", columns, span, None, joined=False))

    def flows(self, phase: str | None = None) -> Table:
        """The flows: ``flow_id``, ``src``, ``dst`` (text), ``src_port``, ``dst_port``,
        ``protocol``.

        Without a phase, every flow of the capture, with ``node_id`` (the first to report it),
        ``first_seen_ns``, ``probed``, ``handshake_rtt_ns`` and ``mss_bytes``, null if they
        were not seen.

        With a phase, the flows seen in it, one row for each link, with ``phase``, ``node_id``,
        ``egress_port``, ``queue``, estimates: ``class`` (``lbp`` is bottlenecked here, ``rbp``
        elsewhere, ``wl`` limited by its window), ``confidence``, ``p_lbp``, ``why``,
        ``rate_bps``, ``packets``, ``drops``, ``cwnd_segments``, ``srtt_ms``, ``base_rtt_ms``,
        ``congestion_control``, ``beta`` and more.
        """
        return Table(self._native.flows(phase))

    def phases(self) -> list[Phase]:
        """Phases of the run, one for each link, sorted by start."""
        return [Phase(*phase) for phase in self._native.phases()]

    def estimates(
        self,
        phase: str | None = None,
        *,
        node: int | None = None,
        port: int | None = None,
        queue: int | None = None,
        from_s: float | None = None,
        to_s: float | None = None,
        targets: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Estimates, rules, advice and verdict of links, over a phase or over every phase.

        :param phase: name of the phase.
        :param node: only links of this switch.
        :param port: only links of this port.
        :param queue: only links of this queue of a port.
        :param from_s: start of a span to use instead of phases, in seconds after the link's first
            interval.
        :param to_s: end of that span, in the same seconds.
        :param targets: targets that replace those of :attr:`targets`; the others stay.
        :return: one ``dict`` for each link and phase, as in ``links`` of
            ``tidemark-controller analyze --json``.
        :raises ValueError: there is no such phase, link, span or target.
        """
        links = self._links(phase, (node, port, queue), from_s, to_s, targets)
        return [link for _, link, _ in links]

    def verdict(
        self,
        phase: str | None = None,
        *,
        node: int | None = None,
        port: int | None = None,
        queue: int | None = None,
        from_s: float | None = None,
        to_s: float | None = None,
        targets: Mapping[str, Any] | None = None,
    ) -> Verdict:
        """Verdict on one link's buffer over a phase.

        Parameters as for :meth:`estimates`. Without a phase, the verdict is that of the last one.

        :raises ValueError: as for :meth:`estimates`, or the run has several links: name one
            with ``node``, ``port`` and ``queue``.
        """
        links = self._links(phase, (node, port, queue), from_s, to_s, targets)
        last, _, _ = links[-1]
        found = [link for link in links if link[0] == last]
        place = ("node", "port", "queue")
        links_found = {tuple(link[key] for key in place): None for _, link, _ in found}
        if len(links_found) > 1:
            named = (zip(place, link, strict=True) for link in links_found)
            there = "; ".join(", ".join(f"{key}={n}" for key, n in link) for link in named)
            raise ValueError(f"{self._path}: several links have a verdict; name one: {there}")
        name, link, origin = found[-1]
        about = {"run": self._path.name, "phase": name}
        about |= {key: link[key] for key in (*place, "port_name", "from_s", "to_s")}
        return Verdict(link["verdict"], about, origin)

    def _links(
        self,
        phase: str | None,
        which: tuple[int | None, int | None, int | None],
        from_s: float | None,
        to_s: float | None,
        targets: Mapping[str, Any] | None,
    ) -> list[tuple[str, dict[str, Any], Origin]]:
        if phase is not None and (from_s is not None or to_s is not None):
            raise ValueError("phase: give it or a span (from_s, to_s), not both")
        others = None if targets is None else json.dumps(dict(targets))
        links = self._native.links(phase, *which, from_s, to_s, others)
        return [(name, link, tuple(origin)) for name, link, origin in json.loads(links)]

    def _table(
        self,
        table: str,
        columns: Sequence[str] | None,
        span: tuple[float | None, float | None, int | None, int | None],
        flow_id: int | None,
        *,
        joined: bool,
    ) -> NativeTable:
        if isinstance(columns, str):
            raise TypeError("columns: give a list of names")
        chosen = None if columns is None else list(columns)
        return self._native.table(table, chosen, *span, flow_id, joined)

    def __repr__(self) -> str:
        return f"Run({str(self._path)!r})"
