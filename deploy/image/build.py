#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds Containerfile's image from the newest packages, and writes it as an OCI archive.

    build.py --packages target/packages --out target/image --base docker.io/library/debian:12-slim

`--base DIRECTORY` takes a root file system in place of an image: nothing is pulled then. The same
packages and the same base give the same layers: times are the commit's.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(REPOSITORY / "deploy/packages"), str(HERE)]

from build import out_of  # noqa: E402
from image_name import NAME, tag_of  # noqa: E402
from layout import HOMEPAGE, PACKAGES  # noqa: E402


def newest(packages: Path) -> list[Path]:
    found = []
    for package in PACKAGES:
        if not package.in_image:
            continue
        of_it = sorted(packages.glob(f"{package.name}_*.deb"), key=lambda p: p.stat().st_mtime)
        if not of_it:
            sys.exit(f"build.py: no package {package.name} in {packages}: make packages")
        found.append(of_it[-1])
    return found


class Buildah:
    """Runs buildah, with a separate store if one is given."""

    def __init__(self, store: Path | None, epoch: str) -> None:
        self.epoch = epoch
        self.options: list[object] = []
        if store:
            run_root = store / "run"
            self.options = ["--root", store / "root", "--runroot", run_root]
            self.options += ["--storage-driver", "vfs"]

    def __call__(self, *words: object) -> str:
        return out_of("buildah", *self.options, *words)

    def base_from(self, directory: Path) -> str:
        """Makes an image from a root file system."""
        name = "localhost/tidemark-base"
        container = self("from", "scratch")
        self("copy", "--quiet", container, directory, "/")
        self("commit", "--quiet", "--timestamp", self.epoch, "--rm", container, name)
        return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, default=REPOSITORY / "target/packages")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "target/image")
    parser.add_argument("--base", default="docker.io/library/debian:12-slim")
    parser.add_argument("--store", type=Path, help="where images are kept [the user's own]")
    args = parser.parse_args()
    if not shutil.which("buildah"):
        sys.exit("build.py: buildah is not on PATH (Debian: package buildah)")
    packages = newest(args.packages)
    version = packages[0].name.split("_")[1]
    epoch = out_of("git", "-C", REPOSITORY, "log", "-1", "--format=%ct")
    buildah = Buildah(args.store, epoch)
    base = buildah.base_from(Path(args.base)) if Path(args.base).is_dir() else args.base
    image = "localhost/tidemark:latest"
    labels = {"title": "Tidemark", "version": version, "source": HOMEPAGE, "licenses": "Apache-2.0"}
    with tempfile.TemporaryDirectory() as context:
        for package in packages:
            shutil.copy(package, context)
        words: list[object] = ["bud", "--quiet", "--isolation", "chroot", "--timestamp", epoch]
        for name, value in labels.items():
            words += ["--label", f"org.opencontainers.image.{name}={value}"]
        words += ["--build-arg", f"BASE={base}", "--tag", image]
        buildah(*words, "--file", HERE / "Containerfile", context)
    args.out.mkdir(parents=True, exist_ok=True)
    archive = args.out / f"tidemark_{version}.oci.tar"
    archive.unlink(missing_ok=True)
    buildah("push", "--quiet", image, f"oci-archive:{archive}:{NAME}:{tag_of(version)}")
    print(f"{image}\n{archive}")


if __name__ == "__main__":
    main()
