# SPDX-License-Identifier: Apache-2.0
"""Podman, Docker and skopeo accept the archive's name."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
from io import BytesIO
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from image_name import NAME, tag_of

# An untagged commit, a tagged one, a release candidate, and one with an epoch.
VERSIONS = ("0.1.0+git20261126.9d8fae3b", "0.1.0", "1.0.0~rc1-2", "1:2.0+dirty")
# github.com/distribution/reference, regexp.go.
TAG = re.compile(r"[\w][\w.-]{0,127}", re.ASCII)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_makes_a_tag(version):
    assert TAG.fullmatch(tag_of(version))


def test_two_versions_have_two_tags():
    assert len({tag_of(v) for v in VERSIONS}) == len(VERSIONS)
    assert tag_of("0.1.0") == "0.1.0", "what may stand stays"


def archive(path: Path, reference: str) -> None:
    """Writes an OCI archive of an empty image with this name."""
    blobs: dict[str, bytes] = {}

    def described(kind: str, content: bytes) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        media = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}

    layer = BytesIO()
    tarfile.open(fileobj=layer, mode="w").close()
    diff = f"sha256:{hashlib.sha256(layer.getvalue()).hexdigest()}"
    config = {"architecture": "amd64", "os": "linux", "config": {}}
    config["rootfs"] = {"type": "layers", "diff_ids": [diff]}
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described("config.v1+json", json.dumps(config).encode()),
        "layers": [described("layer.v1.tar", layer.getvalue())],
    }
    top = described("manifest.v1+json", json.dumps(manifest).encode())
    top["annotations"] = {"org.opencontainers.image.ref.name": reference}
    index = {"schemaVersion": 2, "manifests": [top]}
    blobs["index.json"] = json.dumps(index).encode()
    blobs["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    with tarfile.open(path, "w") as file:
        for name, content in blobs.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            file.addfile(entry, BytesIO(content))


@pytest.mark.parametrize("version", VERSIONS)
def test_podman_loads_it(tmp_path: Path, version: str):
    if not shutil.which("podman"):
        message = "SKIPPED: podman is not on PATH: no image archive is loaded"
        print(f"\n{message}\n", file=sys.__stderr__)
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    file = tmp_path / "image.oci.tar"
    archive(file, f"{NAME}:{tag_of(version)}")
    # podman's runtime directory must have a path of at most 50 characters.
    with tempfile.TemporaryDirectory(prefix="tag-") as run:
        store = ["--root", tmp_path / "root", "--runroot", run, "--storage-driver", "vfs"]
        loaded = subprocess.run(
            ["podman", *store, "load", "--input", file], capture_output=True, text=True
        )
    assert loaded.returncode == 0, loaded.stderr
    assert f"{NAME}:{tag_of(version)}" in loaded.stdout
