"""Finished run folders become entries of the ledger, wherever they were made.

Of a folder only experiment.json, records.jsonl and log.jsonl are needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from remanence.core.errors import FolderError
from remanence.experiment import Experiment
from remanence.records import Record, read_records
from remanence.reproduce.ledger import Entry, Ledger
from remanence.reproduce.shape import PLACES, name_of
from remanence.run_folder import read_experiment, read_log

Line = Mapping[str, Any]


def run_folders(places: Iterable[Path]) -> list[Path]:
    """The run folders that places are, or hold at any depth."""
    found: list[Path] = []
    for place in places:
        if (place / "experiment.json").exists():
            found.append(place)
            continue
        below = sorted(file.parent for file in place.rglob("experiment.json"))
        if not below:
            raise FolderError(f"{place} is no run folder and holds none: none has experiment.json")
        found += below
    return list(dict.fromkeys(found))


def collect(ledger: Ledger, folder: Path) -> tuple[Entry, bool]:
    """The entry of a run folder, and whether it is new to the ledger."""
    entry = entry_of(folder)
    return entry, ledger.add(entry)


def entry_of(folder: Path) -> Entry:
    """What the ledger keeps of a finished run."""
    kept, log = read_experiment(folder), read_log(folder)
    records = read_records(folder / "records.jsonl")
    started = [line for line in log if line.get("event") == "started"]
    if not started or not is_finished(records, started[-1]):
        raise FolderError(f"{folder} is not finished: run it to its end, then collect it")
    about = started[-1]
    config = kept["resolved"]
    data = {key: value for key, value in config["data"].items() if key not in PLACES}
    machine = {"precision": config["machine"]["precision"], "device": about["device"]}
    machine |= {key: about.get(key) for key in ("processor", "machine", "threads")}
    classes = hashlib.blake2b("\n".join(about["classes"]).encode()).hexdigest()
    training = config["training"]
    return Entry(
        name=name_of(Experiment.of(config), classes),
        config={**config, "data": data},
        data=about["data"],
        order={"name": _order(config["stream"]["order"]), "hash": about["order"]},
        seed=config["seed"],
        epochs={"base": training["base_epochs"], "increment": training["epochs"]},
        made_with={
            "remanence": kept.get("remanence"),
            "commit": about.get("commit"),
            "torch": about["torch"],
            "python": about["python"],
        },
        machine=machine,
        seconds=_seconds(log),
        groups=_groups(records[-1]),
        right=_right(records),
        finished=datetime.fromtimestamp(log[-1]["time"], UTC).date().isoformat(),
    )


def is_finished(records: Sequence[Record], started: Line) -> bool:
    """Whether the records go on to the last of the classes that were to be learned."""
    return bool(records) and sum(records[-1].group_sizes) == len(started["classes"])


def _order(order: Any) -> str:
    return order if isinstance(order, str) else "listed"


def _seconds(log: Sequence[Line]) -> dict[str, float | None]:
    """Time in epochs; epochs that a kill cut short and that were learned again are in it."""
    epochs = [line for line in log if line.get("event") == "epoch"]
    base = [line["seconds"] for line in epochs if line["increment"] == 0]
    later = [line["seconds"] for line in epochs if line["increment"] > 0]
    return {"base": round(sum(base), 1) if base else None, "increments": round(sum(later), 1)}


def _groups(last: Record) -> dict[str, list[int]]:
    return {"classes": list(last.group_sizes), "tested": _by_group(last.tested, last.group_sizes)}


def _right(records: Sequence[Record]) -> dict[str, list[list[int]]]:
    """Right answers by reading, increment and group, of the readings that every record has."""
    return {
        reading: [_by_group(record.readings[reading], record.group_sizes) for record in records]
        for reading in records[0].readings
        if all(reading in record.readings for record in records)
    }


def _by_group(counts: Sequence[int], sizes: Sequence[int]) -> list[int]:
    ends = list(accumulate(sizes))
    return [sum(counts[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
