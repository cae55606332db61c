"""What a version says of itself after a lesson."""

from __future__ import annotations

import time
from datetime import date
from importlib.metadata import version
from typing import Any, Protocol

import torch

from remanence.core.settings import encode
from remanence.learning.keeping import Keepsakes
from remanence.learning.knowledge import TRANSFORM
from remanence.learning.measuring import measured, remembered
from remanence.learning.past import Past
from remanence.learning.pupil import Pupil
from remanence.learning.wishes import Wishes
from remanence.model.description import FORMAT, Description, KnownClass


class Taught(Protocol):
    """How many photographs of each class a lesson has: to learn from, and held out."""

    @property
    def only_measured(self) -> bool: ...

    def counts(self, name: str) -> tuple[int, int]: ...


def described(
    number: int, past: Past, pupil: Pupil, taught: Taught, keepsakes: Keepsakes, wishes: Wishes
) -> Description:
    """The description of version `number`."""
    before = past.pupil.knowledge if past.version else None
    result = measured(pupil.knowledge, before)
    lost = result.forgotten
    refused = None
    if wishes.max_drop is not None and lost is not None and lost > wishes.max_drop:
        refused = f"old classes lose {lost:.1f} points; {wishes.max_drop:g} are allowed"
    return Description(
        format=FORMAT,
        version=number,
        parent=past.version.version if past.version else None,
        made=_today(),
        classes=_classes(number, past, pupil, taught),
        backbone=pupil.backbone,
        preprocessing=pupil.preprocessing,
        transform=TRANSFORM,
        temperature=pupil.temperature(),
        kept=keepsakes.photographs,
        measured=result,
        refused=refused,
        settings=_settings(past, wishes),
        software={"remanence": version("remanence"), "torch": torch.__version__},
        seconds=round(time.monotonic() - past.begun, 1),
    )


def _classes(number: int, past: Past, pupil: Pupil, taught: Taught) -> tuple[KnownClass, ...]:
    known = {one.name: one for one in past.version.classes} if past.version else {}
    percents = zip(pupil.knowledge.names, remembered(pupil.knowledge), strict=True)
    return tuple(
        _class(known.get(name) or _unknown(name, number), number, percent, taught)
        for name, percent in percents
    )


def _unknown(name: str, number: int) -> KnownClass:
    return KnownClass(name=name, version=number, made=_today(), photographs=0)


def _class(before: KnownClass, number: int, percent: float | None, taught: Taught) -> KnownClass:
    learned, held = taught.counts(before.name)
    return KnownClass(
        name=before.name,
        version=before.version,
        made=before.made,
        photographs=before.photographs + learned + (0 if taught.only_measured else held),
        held_out=before.held_out + held,
        remembered=dict(before.remembered) | ({} if percent is None else {number: percent}),
    )


def _settings(past: Past, wishes: Wishes) -> dict[str, Any]:
    return dict(encode(wishes)) | {"keep": past.budget_words(wishes)}


def _today() -> str:
    return date.today().isoformat()
