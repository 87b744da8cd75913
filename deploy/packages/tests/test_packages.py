# SPDX-License-Identifier: Apache-2.0
"""The packages in a bare Debian: installed, run by an unprivileged user, removed.

`make test-packages` builds them and makes the Debian (debootstrap); TIDEMARK_PACKAGES and
TIDEMARK_CHROOT name both.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
PACKAGES = Path(os.environ.get("TIDEMARK_PACKAGES", HERE.parents[1] / "target/packages"))
CHROOT = Path(os.environ.get("TIDEMARK_CHROOT", HERE.parents[1] / "target/debian"))
NAMES = ("tidemark-collector", "tidemark-controller", "tidemark-switch", "tidemark")
LAB = "tidemark-lab"
# Longest promised time from installing the packages to an estimate on the page.
LIVE_PICTURE_S = 60


def debs(names: tuple[str, ...] = NAMES) -> list[Path]:
    """Returns the newest file of each package."""
    found = []
    for name in names:
        all_of_it = sorted(PACKAGES.glob(f"{name}_*.deb"), key=lambda p: p.stat().st_mtime)
        assert all_of_it, f"no package {name} in {PACKAGES}: make packages"
        found.append(all_of_it[-1])
    return found


def inside(root: Path, *command: object, user: str = "root") -> subprocess.CompletedProcess[str]:
    """Runs a command in the Debian, as root or as `nobody` without capabilities."""
    drop = ["--userspec=nobody:nogroup"] if user == "nobody" else []
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
    words = ["chroot", *drop, str(root), *(str(c) for c in command)]
    return subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)


def must(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Copies the bare Debian, with the packages in its /tmp."""
    assert os.geteuid() == 0, "chroot needs root"
    assert (CHROOT / "etc/debian_version").is_file(), f"no Debian in {CHROOT}: make test-packages"
    root = tmp_path_factory.mktemp("debian") / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", CHROOT, root], check=True)
    # Only their owner may enter pytest's directories.
    for directory in (root.parent, root.parent.parent, root.parent.parent.parent):
        directory.chmod(0o755)
    for program in ("python3", "gcc", "cargo", "node", "curl"):
        assert not (root / "usr/bin" / program).exists(), f"{program}: this Debian is not bare"
    for deb in debs():
        shutil.copy(deb, root / "tmp" / deb.name)
    yield root
    shutil.rmtree(root)


def install(root: Path) -> None:
    must(inside(root, "dpkg", "--install", *(f"/tmp/{d.name}" for d in debs())))


@pytest.fixture(scope="module")
def debian(bare: Path) -> Path:
    """Has the packages installed, and nothing else."""
    install(bare)
    return bare


@contextmanager
def demonstration(root: Path, port: int) -> Iterator[None]:
    """Runs `tidemark demo --replay` as `nobody`, until the block ends."""
    words = ["chroot", "--userspec=nobody:nogroup", str(root), "tidemark", "demo", "--replay"]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"}
    demo = subprocess.Popen([*words, "--port", str(port)], env=environment)
    try:
        yield
        assert demo.poll() is None, "it ended by itself"
    finally:
        demo.terminate()
        demo.wait(60)


def answer(url: str) -> bytes:
    """Returns the body; empty while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.read()
    except (urllib.error.URLError, ConnectionError):
        return b""


def estimated(base: str) -> bool:
    """Returns whether the page is served and a link has an estimate of its flows."""
    if b"<html" not in answer(base + "/"):
        return False
    links = json.loads(answer(base + "/api/v1/links") or "{}").get("links", [])
    return any((link.get("estimate") or {}).get("estimates", {}).get("n_b") for link in links)


# Before the other tests: what is timed begins with the installation.
def test_a_live_picture_within_a_minute_of_the_installation(bare: Path):
    begin = time.monotonic()
    install(bare)
    installed_s = time.monotonic() - begin
    with demonstration(bare, 28380):
        while not estimated("http://127.0.0.1:28380"):
            assert time.monotonic() - begin < LIVE_PICTURE_S
            time.sleep(0.1)
        print(f"installed {installed_s:.1f} s, live picture {time.monotonic() - begin:.1f} s")
    assert not list((bare / "tmp").glob("tidemark-demo*")), "it leaves nothing behind"


def test_the_recorded_run_is_estimated(debian: Path):
    """Without root, compiler, switch or configuration; the numbers are the run's."""
    done = inside(
        debian, "tidemark", "demo", "--replay", "--port", "28390", "--once", user="nobody"
    )
    text = must(done)
    assert "Console: http://127.0.0.1:28390" in text
    row = next(line for line in text.splitlines() if line.startswith("10:1"))
    n_b, t_e_ms = (float(v) for v in re.search(r" (\d+\.\d) +(\d+\.\d) +\d+ bytes", row).groups())
    # 20 flows whose base RTTs have a harmonic mean of 60.3 ms.
    assert n_b == pytest.approx(20, abs=2)
    assert t_e_ms == pytest.approx(60.3, rel=0.1)
    assert "104476 reports, 0 lost" in text
    assert not list((debian / "tmp").glob("tidemark-demo*")), "it leaves nothing behind"


def test_wrong_arguments_are_named(debian: Path):
    for arguments, word in (
        (["demo"], "--replay"),
        (["demo", "--replay", "--port", "x"], "--port takes a number"),
        (["demo", "--replay", "--port", "0"], "--port is from 1 to 65532"),
        (["nonsense"], "Usage"),
    ):
        done = inside(debian, "tidemark", *arguments, user="nobody")
        assert done.returncode == 2 and word in done.stderr, (arguments, done)


def test_sample_configurations_are_valid_and_start(debian: Path):
    for program in ("collector", "controller"):
        path = f"/etc/tidemark/{program}.toml"
        must(inside(debian, f"tidemark-{program}", "validate", "--config", path))
        version = must(inside(debian, f"tidemark-{program}", "--version"))
        assert version.startswith(f"tidemark-{program} ")
    must(inside(debian, "tidemark-switch", "check", "/usr/share/tidemark/p4/tidemark.json"))
    front = must(inside(debian, "/usr/lib/tidemark/bmv2/simple_switch_grpc", "--version"))
    assert "with simple_switch_grpc's options" in front


def test_units_are_well_confined():
    for unit in sorted((HERE / "systemd").glob("*.service")):
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
        done = subprocess.run(command, capture_output=True, text=True)
        exposure = float(re.search(r"Overall exposure level.*?: ([\d.]+)", done.stdout)[1])
        assert exposure <= 3.0, f"{unit.name}: {exposure}"


def test_manual_pages_and_completions(debian: Path):
    commands = [p.name for p in (debian / "usr/bin").glob("tidemark*")]
    assert len(commands) == 5, commands
    for command in commands:
        for path in (
            f"usr/share/man/man1/{command}.1.gz",
            f"usr/share/bash-completion/completions/{command}",
            f"usr/share/zsh/vendor-completions/_{command}",
            f"usr/share/fish/vendor_completions.d/{command}.fish",
        ):
            assert (debian / path).stat().st_size > 300, path


def test_grafana_finds_dashboards_and_data_sources(debian: Path):
    """Uses the directories named in docs/how-to/grafana.md."""
    grafana = debian / "usr/share/tidemark/grafana"
    dashboards = {p.name for p in (grafana / "dashboards").iterdir()}
    made = (HERE.parents[1] / "deploy/grafana/dashboards").glob("*.json")
    assert dashboards == {p.name for p in made}
    for folder in ("dashboards", "datasources"):
        assert (grafana / "provisioning" / folder / "tidemark.yaml").is_file()
    page = (HERE.parents[1] / "docs/how-to/grafana.md").read_text()
    for path in ("dashboards", "provisioning"):
        assert f"=/usr/share/tidemark/grafana/{path}\n" in page


def test_configuration_of_an_administrator_is_kept(debian: Path):
    path = debian / "etc/tidemark/collector.toml"
    changed = path.read_text() + "\n# mine\n"
    path.write_text(changed)
    collector = next(d for d in debs() if d.name.startswith("tidemark-collector_"))
    must(inside(debian, "dpkg", "--install", "--force-confold", f"/tmp/{collector.name}"))
    assert path.read_text() == changed


def test_two_builds_are_the_same_bytes(tmp_path: Path):
    """Builds twice from equal programs."""
    programs = os.environ.get("TIDEMARK_BIN_DIR", str(HERE.parents[1] / "target/release"))
    build = [sys.executable, str(HERE / "build.py"), "--programs", programs]
    for out in ("a", "b"):
        subprocess.run([*build, "--out", str(tmp_path / out)], check=True)
        time.sleep(1.1)
    names = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert len(names) == len((*NAMES, LAB))
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_removal_leaves_only_configuration(debian: Path):
    must(inside(debian, "dpkg", "--purge", *reversed(NAMES)))
    left = list((debian / "usr").rglob("*tidemark*"))
    assert left == []
    assert not (debian / "etc/tidemark").exists()
