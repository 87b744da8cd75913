# SPDX-License-Identifier: Apache-2.0
"""The package tidemark-lab in a Debian with only Python: needs no files outside the packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_packages import HERE, LAB, NAMES, debs, inside, must

CHROOT = Path(
    os.environ.get("TIDEMARK_CHROOT_PYTHON", HERE.parents[1] / "target/debian-python")
).resolve()
ALL = (*NAMES[:3], LAB)
EXPERIMENTS = HERE.parents[1] / "testbed/experiments"


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    assert os.geteuid() == 0, "chroot needs root"
    assert (CHROOT / "usr/bin/python3").exists(), f"no Debian in {CHROOT}: make test-packages"
    root = tmp_path_factory.mktemp("debian-python") / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", CHROOT, root], check=True)
    for directory in (root.parent, root.parent.parent, root.parent.parent.parent):
        directory.chmod(0o755)
    assert not list(root.glob("usr/lib/python3/dist-packages/numpy")), "this Debian is not bare"
    for deb in debs(ALL):
        shutil.copy(deb, root / "tmp" / deb.name)
    must(inside(root, "dpkg", "--install", *(f"/tmp/{d.name}" for d in debs(ALL))))
    yield root
    shutil.rmtree(root)


def lab(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command without privileges and without a network."""
    command = ["unshare", "--net", "chroot", "--userspec=nobody:nogroup", str(root)]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
    command += ["/bin/sh", "-c", 'cd /tmp && exec tidemark-lab "$@"', "lab", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


# The parts of a machine outside Debian: the kernel's file systems, an empty /run, loopback.
MACHINE = """
root=$1; user=$2; shift 2
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
ip link set lo up
exec chroot --userspec="$user" "$root" "$@"
"""


def machine(root: Path, user: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command like on its own machine: its mounts, processes and network end with it."""
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    command += ["sh", "-ec", MACHINE, "machine", str(root), user, "tidemark-lab", *words]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def test_help_and_list(debian: Path):
    assert "usage: tidemark-lab" in must(lab(debian, "--help"))
    listed = {line.split()[0] for line in must(lab(debian, "list")).splitlines()}
    assert listed == {p.stem for p in EXPERIMENTS.rglob("*.toml")}


def test_an_experiment_is_planned(debian: Path):
    """Without privileges; available congestion controls are read from /proc."""
    done = machine(debian, "nobody", "run", "first", "--dry-run")
    assert done.returncode == 0 and "to run" in done.stderr, done
    done = machine(debian, "nobody", "sweep", "algorithms", "--dry-run")
    assert done.returncode == 0 and done.stderr.count("to run") == 80, done
    assert not (debian / "runs").exists()


def test_figures_of_a_run_are_drawn(debian: Path):
    """Uses the package's own numpy, pyarrow and matplotlib."""
    data = HERE.parents[1] / "testbed/lab/tests/data/small"
    run = debian / "tmp/small"
    shutil.copytree(data, run)
    subprocess.run(["chown", "-R", "nobody:nogroup", run], check=True)
    must(lab(debian, "figures", "/tmp/small"))
    assert "<svg" in next((run / "figures").rglob("*.svg")).read_text()


def test_an_experiment_runs(debian: Path):
    """Real TCP through the package's switch; tracefs is not mounted beforehand."""
    short = ["--set", "run.warmup=3s"]
    for phase in ("full", "half"):
        short += ["--set", f"phases.{phase}.duration=5s"]
    must(machine(debian, "root", "run", "first", *short, "--out", "/tmp/real"))
    (record,) = (debian / "tmp/real").rglob("run.json")
    rows = json.loads(record.read_text())["rows"]
    assert [row["phase"] for row in rows] == ["full", "half"]
    for row in rows:
        assert row["reports_lost"] == 0 and row["utilisation"] > 0.8, row
        assert row["true_n_b"] == 4 and row["n_b"] == pytest.approx(4, abs=1), row
        assert 0 < row["occupancy_max_bytes"] <= row["limit_bytes"] + 1514, row
    assert rows[0]["limit_bytes"] == pytest.approx(2 * rows[1]["limit_bytes"], rel=0.01)
    assert "2 rows" in must(lab(debian, "table", "/tmp/real", "--out", "/tmp/table"))


def test_what_it_cannot_do_here_is_said(debian: Path):
    for words, said in (
        (("run", "first", "--back-end", "ns3"), "TIDEMARK_NS3"),
        (("run", "first"), "mount /proc"),
        (("doctor",), "the lab needs root"),
        (("paper", "utb", "--quick", "--docs"), "only in a clone of the repository"),
        (("run", "nonsense"), "`list` names them"),
    ):
        done = lab(debian, *words)
        assert done.returncode == 2 and said in done.stderr, (words, done)
        assert "Traceback" not in done.stderr and "make " not in done.stderr, done.stderr


def test_manual_page_and_completions(debian: Path):
    for path in (
        "usr/share/man/man1/tidemark-lab.1.gz",
        "usr/share/bash-completion/completions/tidemark-lab",
        "usr/share/zsh/vendor-completions/_tidemark-lab",
        "usr/share/fish/vendor_completions.d/tidemark-lab.fish",
    ):
        assert (debian / path).stat().st_size > 500, path


def test_licences_of_all_that_is_inside(debian: Path):
    assert "GENERAL PUBLIC LICENSE" in (debian / "usr/share/tidemark/ns3/LICENSE").read_text()
    for library in (debian / "usr/lib/tidemark/lab").glob("*.dist-info"):
        names = {p.name.upper() for p in library.rglob("*") if p.is_file()}
        assert any(n.startswith(("LICEN", "COPYING")) for n in names), library.name


def test_removal_leaves_nothing(debian: Path):
    must(inside(debian, "dpkg", "--purge", LAB))
    assert not (debian / "usr/lib/tidemark/lab").exists()
    assert not (debian / "usr/share/tidemark/experiments").exists()
    must(inside(debian, "dpkg", "--purge", *reversed(NAMES[:3])))
    assert list((debian / "usr").rglob("*tidemark*")) == []
