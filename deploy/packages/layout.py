# SPDX-License-Identifier: Apache-2.0
"""Contents of each Debian package."""

from __future__ import annotations

from dataclasses import dataclass, field

HOMEPAGE = "https://github.com/tidemark-net/tidemark"
MAINTAINER = "The Tidemark developers <tidemark@localhost>"


@dataclass(frozen=True)
class Package:
    """A binary package. Paths on the left are in the repository, on the right in the package."""

    name: str
    summary: str
    description: str
    # Built programs.
    programs: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    # Configuration files: dpkg keeps an administrator's changes.
    conffiles: dict[str, str] = field(default_factory=dict)
    # Symbolic links: path and target.
    links: dict[str, str] = field(default_factory=dict)
    units: tuple[str, ...] = ()
    users: bool = False
    # Dependencies in addition to the C library.
    depends: tuple[str, ...] = ()
    # The recorded run of the golden set, if any, and its place.
    recorded: tuple[str, str] | None = None
    # Directory of handwritten manual pages and completions.
    manuals: str = ""
    # Directories of the repository; only the files that git tracks.
    trees: dict[str, str] = field(default_factory=dict)
    # Python libraries: the file that lists them, and their place.
    libraries: tuple[str, str] | None = None
    # Dependencies on packages of others.
    needs: tuple[str, ...] = ()
    suggests: tuple[str, ...] = ()
    in_image: bool = True

    def commands(self) -> tuple[str, ...]:
        """Commands that the package puts on PATH."""
        scripts = (to for to in self.files.values() if to.startswith("usr/bin/"))
        return (*self.programs, *(to.removeprefix("usr/bin/") for to in scripts))


HERE = "deploy/packages"
PACKAGES = (
    Package(
        name="tidemark-collector",
        summary="receives INT reports and tcp_probe, joins, stores and streams them",
        description="Takes the reports that a P4 switch sends of every packet, joins them with the "
        "senders' windows, and gives them to captures, ClickHouse and the controller. Also the "
        "agent that reads a sender's tracepoints.",
        programs=("tidemark-collector",),
        files={
            f"{HERE}/etc/sysctl.conf": "usr/lib/sysctl.d/60-tidemark.conf",
            f"{HERE}/etc/ring.conf": "usr/share/doc/tidemark-collector/ring.conf",
            f"{HERE}/etc/tcp-probe.conf": "usr/share/doc/tidemark-collector/tcp-probe.conf",
            "deploy/clickhouse/schema.sql": "usr/share/tidemark/clickhouse/schema.sql",
            "deploy/clickhouse/cluster.sql": "usr/share/tidemark/clickhouse/cluster.sql",
        },
        conffiles={f"{HERE}/etc/collector.toml": "etc/tidemark/collector.toml"},
        units=("tidemark-collector.service", "tidemark-agent.service"),
        users=True,
    ),
    Package(
        name="tidemark-controller",
        summary="estimates bottlenecked flows, advises and sets buffer limits",
        description="Estimates live how many flows are bottlenecked at a link, how synchronised "
        "their losses are and how fair they are, recommends or sets each port's buffer limit, and "
        "serves the console.",
        programs=("tidemark-controller",),
        conffiles={f"{HERE}/etc/controller.toml": "etc/tidemark/controller.toml"},
        units=("tidemark-controller.service",),
        users=True,
    ),
    Package(
        name="tidemark-switch",
        summary="P4 software switch with queues, and traffic with known truth",
        description="Runs v1model programs on Linux interfaces, with rates, delays and queues of "
        "its own, and serves P4Runtime. With the compiled telemetry program, and "
        "tidemark-traffic, which makes TCP traffic.",
        programs=("tidemark-switch", "tidemark-traffic"),
        files={
            "p4src/build/tidemark.json": "usr/share/tidemark/p4/tidemark.json",
            "p4src/build/tidemark.p4info.txtpb": "usr/share/tidemark/p4/tidemark.p4info.txtpb",
            **{
                f"p4src/build/int_md/{name}": f"usr/share/tidemark/p4/int_md/{name}"
                for name in ("int_md.json", "int_md.p4info.txtpb")
            },
        },
        # Scripts that start BMv2 by name find this one, if it is first on PATH.
        links={
            f"usr/lib/tidemark/bmv2/{name}": "../../../bin/tidemark-switch"
            for name in ("simple_switch", "simple_switch_grpc")
        },
        units=("tidemark-switch@.service",),
    ),
    Package(
        name="tidemark",
        summary="the whole of Tidemark, and a demonstration from a recorded run",
        description="One command for Tidemark's programs. `tidemark demo --replay` shows a "
        "recorded run live in the console, without root, switch or configuration.",
        files={
            f"{HERE}/front/tidemark": "usr/bin/tidemark",
            f"{HERE}/demo/collector.toml": "usr/share/tidemark/demo/collector.toml",
            f"{HERE}/demo/controller.toml": "usr/share/tidemark/demo/controller.toml",
            f"{HERE}/demo/about.txt": "usr/share/tidemark/demo/about.txt",
            "deploy/prometheus/prometheus.yml": "usr/share/tidemark/prometheus/prometheus.yml",
            "deploy/prometheus/tidemark.rules.yml": (
                "usr/share/tidemark/prometheus/tidemark.rules.yml"
            ),
        },
        trees={
            "deploy/grafana/dashboards": "usr/share/tidemark/grafana/dashboards",
            "deploy/grafana/provisioning": "usr/share/tidemark/grafana/provisioning",
        },
        manuals=f"{HERE}/front",
        depends=("tidemark-collector", "tidemark-controller", "tidemark-switch"),
        recorded=("bscl_n20_bdp", "usr/share/tidemark/demo"),
    ),
    Package(
        name="tidemark-lab",
        summary="experiments on buffers with real TCP in network namespaces",
        description="Runs experiments described in files: switches in a row, hosts, traffic, "
        "phases with their limits, and a grid over any parameter; with tables and figures of what "
        "was measured. With its Python libraries, as Debian has older ones or none.",
        files={
            f"{HERE}/lab/tidemark-lab": "usr/bin/tidemark-lab",
            "LICENSE": "usr/share/doc/tidemark-lab/LICENSE",
            f"{HERE}/lab/copyright": "usr/share/doc/tidemark-lab/copyright",
        },
        trees={
            "testbed/lab/tidemark_lab": "usr/lib/tidemark/lab/tidemark_lab",
            "testbed/experiments": "usr/share/tidemark/experiments",
            "testbed/ns3": "usr/share/tidemark/ns3",
        },
        libraries=(f"{HERE}/lab/libraries.txt", "usr/lib/tidemark/lab"),
        # The libraries are built for this Python.
        needs=("python3 (>= 3.11)", "python3 (<< 3.12)"),
        suggests=("g++", "clang", "libbpf1"),
        depends=("tidemark-collector", "tidemark-controller", "tidemark-switch"),
        in_image=False,
    ),
)
