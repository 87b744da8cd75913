# SPDX-License-Identifier: Apache-2.0
"""The image: its programs, its reproducibility, and its companion files.

`make test-image` builds it; TIDEMARK_IMAGES names the store that contains it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parents[1]
TARGET = HERE.parents[1] / "target"
STORE = Path(os.environ.get("TIDEMARK_IMAGES", TARGET / "images"))
BASE = Path(os.environ.get("TIDEMARK_IMAGE_BASE", TARGET / "image-base"))
IMAGE = "localhost/tidemark:latest"


def buildah(*words: object, timeout_s: float = 300) -> str:
    options = ["--root", STORE / "root", "--runroot", STORE / "run", "--storage-driver", "vfs"]
    command = [str(w) for w in ("buildah", *options, *words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    assert os.geteuid() == 0, "the store of images needs root"
    name = buildah("from", "--pull-never", IMAGE)
    yield name
    buildah("rm", name)


def inside(container: str, *command: object, user: str = "nobody") -> str:
    options = ["--isolation", "chroot", "--user", user]
    return buildah("run", *options, container, "--", *command)


def test_it_shows_the_recorded_run(container: str):
    """Without privileges in the container; the numbers are the run's."""
    text = inside(container, "tidemark", "demo", "--replay", "--port", "28490", "--once")
    row = next(line for line in text.splitlines() if line.startswith("10:1"))
    shown = re.search(r" (\d+\.\d) +(\d+\.\d) +(?:fine|too big|too small|cannot say)", row)
    assert shown, text
    n_b, t_e_ms = (float(v) for v in shown.groups())
    # 20 flows whose base RTTs have a harmonic mean of 60.3 ms.
    assert n_b == pytest.approx(20, abs=2)
    assert t_e_ms == pytest.approx(60.3, rel=0.1)
    assert "104476 reports, 0 lost" in text


def test_it_says_what_it_is(container: str):
    config = json.loads(buildah("inspect", "--type", "image", IMAGE))["OCIv1"]
    assert config["config"]["Entrypoint"] == ["tidemark"]
    labels = config["config"]["Labels"]
    version = labels["org.opencontainers.image.version"]
    shown = inside(container, "dpkg-query", "--show", "--showformat", "${Version}", "tidemark")
    assert shown.endswith(version)


def test_two_builds_are_the_same_layers(tmp_path: Path):
    layers = []
    for out in ("a", "b"):
        build = [sys.executable, HERE / "build.py", "--store", STORE, "--base", BASE]
        subprocess.run([*build, "--out", tmp_path / out], check=True, capture_output=True)
        config = json.loads(buildah("inspect", "--type", "image", IMAGE))["OCIv1"]
        layers.append(config["rootfs"]["diff_ids"])
    assert layers[0] == layers[1]


def test_compose_mounts_what_is_there_and_pins_what_is_not_ours():
    compose = yaml.safe_load((HERE / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        image = service["image"]
        ours = "TIDEMARK_IMAGE" in image
        assert ours or re.search(r":v?\d+\.\d+", image), f"{name}: {image} names no version"
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            if source.startswith("."):
                assert (HERE / source).resolve().exists(), f"{name}: {mount}"
            else:
                assert source in compose["volumes"], f"{name}: {mount}"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name}: {port} is for everybody"


def test_configurations_of_compose_are_valid(container: str):
    for program in ("collector", "controller"):
        path = f"/tmp/{program}.toml"
        buildah("copy", "--quiet", container, HERE / "config" / f"{program}.toml", path)
        inside(container, "tidemark", program, "validate", "--config", path)
