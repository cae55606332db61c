"""What run folders tell, and which of them are the same experiment under several seeds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from remanence.core import choices
from remanence.core.errors import FolderError
from remanence.core.settings import differences
from remanence.metrics import Summary, readings, summarise
from remanence.records import Record, read_records
from remanence.run_folder import read_experiment, read_log

NO_MATTER = ("seed", "machine")  # to what an experiment is
Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Account:
    """One run: the settings that were in force, its records, and its log."""

    folder: Path
    resolved: Tree
    recipe: str | None
    version: str
    records: tuple[Record, ...]
    log: tuple[Tree, ...]

    @staticmethod
    def read(folder: Path) -> Account:
        """What a run folder tells; one line where it tells nothing yet."""
        kept = read_experiment(folder)
        records = read_records(folder / "records.jsonl")
        if not records:
            raise FolderError(f"{folder} has no finished increment yet: run it first")
        version = str(kept.get("remanence", "unknown"))
        log = tuple(read_log(folder))
        return Account(folder, kept["resolved"], kept["recipe"], version, tuple(records), log)

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.resolve().name

    @cached_property
    def readings(self) -> list[str]:
        """The ways to read the network, the run's own first."""
        return readings(self.records)

    @property
    def main_readings(self) -> list[str]:
        """The same without the variants of an effect."""
        return [name for name in self.readings if "." not in name]

    def summary(self, reading: str) -> Summary:
        """Every metric of a reading."""
        return summarise(self.records, reading)

    @property
    def title(self) -> str:
        """The method, its effects, and what must be said of it."""
        method = self.resolved["method"]["name"]
        parts = [method, *self.resolved.get("effects", {})]
        return f"{' + '.join(parts)} {choices.caveat('methods', method)}".strip()

    @cached_property
    def surroundings(self) -> Tree:
        """What the run said of itself when it was last started."""
        started = [event for event in self.log if event.get("event") == "started"]
        return started[-1] if started else {}

    @cached_property
    def class_names(self) -> list[str]:
        """What the labels mean."""
        count = sum(self.records[-1].group_sizes)
        named = [str(name) for name in self.surroundings.get("classes", ())]
        return named if len(named) >= count else [f"class {label}" for label in range(count)]

    @cached_property
    def seconds(self) -> dict[int, float]:
        """How long the training of each increment took; one that was taken over is not there."""
        found: dict[int, float] = defaultdict(float)
        for event in self.log:
            if event.get("event") == "epoch":
                found[int(event["increment"])] += float(event["seconds"])
        return dict(found)

    @property
    def starts(self) -> int:
        """How often the run was started: more than once where it was cut."""
        return sum(event.get("event") == "started" for event in self.log)


@dataclass(frozen=True)
class Group:
    """One experiment: its runs differ by their seeds alone."""

    label: str
    accounts: tuple[Account, ...]

    @property
    def first(self) -> Account:
        """The run that stands for all where one is enough."""
        return self.accounts[0]

    def summaries(self, reading: str) -> list[Summary]:
        """Every metric of a reading, for each seed."""
        return [account.summary(reading) for account in self.accounts]


def grouped(accounts: Sequence[Account]) -> list[Group]:
    """Runs of one experiment together, each group under a label that tells it from the others."""
    found: dict[str, list[Account]] = {}
    for account in accounts:
        key = json.dumps(_identity(account.resolved), sort_keys=True)
        found.setdefault(key, []).append(account)
    together = list(found.values())
    return [Group(_label(some, together), tuple(some)) for some in together]


def different_settings(groups: Sequence[Group]) -> dict[str, list[Any]]:
    """The settings in which experiments differ: path, and its value in each of them."""
    leaves = [dict(flat(_identity(group.first.resolved))) for group in groups]
    paths = dict.fromkeys(path for one in leaves for path in one)
    values = {path: [one.get(path, "–") for one in leaves] for path in paths}
    return {path: row for path, row in values.items() if any(v != row[0] for v in row)}


def flat(tree: Tree, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a tree of settings, each with its dotted path."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _identity(resolved: Tree) -> Tree:
    """What makes an experiment what it is, whatever the seed, the machine, and where data lie."""
    kept = {key: value for key, value in resolved.items() if key not in NO_MATTER}
    kept["data"] = {key: value for key, value in resolved["data"].items() if key != "folder"}
    order = str(resolved["stream"].get("order"))
    if order.startswith("random:"):
        kept["stream"] = {**resolved["stream"], "order": "random"}
    return kept


def _label(some: Sequence[Account], together: Sequence[Sequence[Account]]) -> str:
    """The title, and what differs from other experiments of the same title."""
    own = _identity(some[0].resolved)
    rivals = [others[0] for others in together if others is not some]
    alike = [other for other in rivals if other.title == some[0].title]
    paths = dict.fromkeys(
        path for other in alike for path, *_ in differences(own, _identity(other.resolved))
    )
    leaves = dict(flat(own))
    told = [f"{path}={leaves[path]}" for path in paths if path in leaves]
    return ", ".join([some[0].title, *told])
