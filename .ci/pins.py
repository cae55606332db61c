"""The pinned versions and what the registry says of them.

    python .ci/pins.py          see that requirements.lock is of constraints.txt, and that no pinned
                                version was yanked; without a registry, only the first
    python .ci/pins.py lock     write requirements.lock: every pin with the hashes of its files

Advisories are no part of what a registry offers; a version that was yanked is. torch is left out of
the lock: it is one version in many builds (CPU, CUDA, ...), from several registries, each with
hashes of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINS, LOCK = ROOT / "constraints.txt", ROOT / "requirements.lock"
BUILT_IN_MANY_WAYS = ("torch",)
PATIENCE = 20.0  # seconds
HEADING = """\
# Written by 'make lock' from constraints.txt: every file that a registry has of these versions.
#   pip install torch==VERSION        whichever build fits the machine; see constraints.txt
#   pip install --require-hashes --no-deps -r requirements.lock
"""


class Page(HTMLParser):
    """What a registry lists of one project: file names with their hashes, and what was yanked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.hashes: dict[str, str] = {}
        self.yanked: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        address, _, hashed = (told.get("href") or "").partition("#sha256=")
        if tag != "a" or not hashed:
            return
        name = urllib.parse.unquote(address.rpartition("/")[2])
        self.hashes[name] = hashed
        if "data-yanked" in told:
            self.yanked[name] = told["data-yanked"] or "no reason is given"

    def of(self, project: str, version: str) -> list[str]:
        """The files of a version."""
        stem = rf"{re.sub(r'[-_.]+', '[-_.]+', project)}-{re.escape(version)}"
        return [name for name in self.hashes if re.match(rf"{stem}(-|\.tar|\.zip)", name, re.I)]


def main() -> int:
    """Write or check; the exit code."""
    pins = dict(line.split("==") for line in _lines(PINS))
    if sys.argv[1:] == ["lock"]:
        LOCK.write_text(HEADING + "".join(_locked(pins)), encoding="utf-8")
        return 0
    locked = {line.split(" ")[0] for line in _lines(LOCK) if "==" in line}
    wanted = {f"{name}=={pin}" for name, pin in pins.items() if name not in BUILT_IN_MANY_WAYS}
    if locked != wanted:
        print(f"requirements.lock differs: {sorted(locked ^ wanted)}; write it with 'make lock'")
        return 1
    try:
        yanked = list(_yanked(pins))
    except OSError as error:
        print(f"the registry was not asked about what was yanked: {error}")
        return 0
    print("\n".join(yanked) or f"none of {len(pins)} pinned versions was yanked")
    return 1 if yanked else 0


def _lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", " "))]


def _locked(pins: dict[str, str]) -> Iterator[str]:
    for name, (version, page) in _pages(pins).items():
        if name in BUILT_IN_MANY_WAYS:
            continue
        found = page.of(name, version)
        if not found:
            raise SystemExit(f"the registry has no {name}=={version}")
        hashes = sorted({f"    --hash=sha256:{page.hashes[file]}" for file in found})
        yield f"{name}=={version} \\\n" + " \\\n".join(hashes) + "\n"


def _yanked(pins: dict[str, str]) -> Iterator[str]:
    for name, (version, page) in _pages(pins).items():
        whys = {page.yanked[file] for file in page.of(name, version) if file in page.yanked}
        for why in sorted(whys):
            yield f"{name}=={version} was yanked: {why}"


def _pages(pins: dict[str, str]) -> dict[str, tuple[str, Page]]:
    registry = _registry()

    def page(name: str) -> Page:
        project = re.sub(r"[-_.]+", "-", name).lower()
        with urllib.request.urlopen(f"{registry}/{project}/", timeout=PATIENCE) as answer:
            return Page(answer.read().decode())

    with ThreadPoolExecutor(8) as threads:
        pages = threads.map(page, pins)
        return {name: (pin, found) for (name, pin), found in zip(pins.items(), pages, strict=True)}


def _registry() -> str:
    """The one that pip asks."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    chosen = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if chosen:
        return chosen.rstrip("/")
    from pip._internal.models.index import PyPI

    return PyPI.simple_url


if __name__ == "__main__":
    sys.exit(main())
