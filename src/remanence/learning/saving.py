"""Models that a program has learned, to folders and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import torch

from remanence.core.errors import FolderError, SettingsError
from remanence.core.settings import decode
from remanence.learning.course import check_ours
from remanence.learning.describing import described
from remanence.learning.keeping import Keepsakes
from remanence.learning.lessons import Learned, Tally
from remanence.learning.past import Past, memory_of
from remanence.learning.samples import Scale
from remanence.learning.wishes import Wishes
from remanence.model.description import ClassName, Description, KnownClass
from remanence.model.folder import Content, ModelFolder

LABELS, SCALE = "labels", "scale"
PLAIN = (str, int, float)  # what a label may be that is written down


def save(learned: Learned, path: Path, wishes: Wishes) -> Learned:
    """Write a version and take it into use; the same, at home there."""
    _check_names(learned)
    folder = ModelFolder(path)
    check_ours(path)
    with folder.changing():
        past, tally = _past(learned, folder)
        keepsakes = _kept(learned)
        number = max(folder.versions, default=0) + 1
        description = described(number, past, learned.pupil, tally, keepsakes, wishes)
        description = dataclasses.replace(
            description,
            settings={**description.settings, **_own_settings(learned)},
            seconds=None,  # the program's own affair
        )
        told = {**past.told, **learned.told}
        memory = memory_of(learned.pupil, told, keepsakes.features)
        head = dict(zip(("weight", "bias"), learned.pupil.knowledge.rows(), strict=True))
        trunk = learned.pupil.trunk.state_dict()
        folder.add(Content(description, trunk, head, memory, keepsakes.new))
        folder.use(number)
    past = Past(description, learned.pupil, told, keepsakes.features)
    return dataclasses.replace(learned, since=Tally(), told={}, home=path, past=past)


def load(path: Path, own_code: bool) -> Learned:
    """The version in use of a model, to be asked and to go on learning."""
    folder = ModelFolder(path)
    description = folder.describe()
    shrinkage = description.settings.get("shrinkage", Wishes().shrinkage)
    wishes = decode(Wishes, {"shrinkage": shrinkage, "own_code": own_code})
    past = Past.of(folder, wishes)
    black, white = description.settings.get(SCALE, (0, 255))
    scale = Scale(float(black), float(white))
    return Learned(past.pupil, _names(description), scale, home=path, past=past)


def _own_settings(learned: Learned) -> dict[str, Any]:
    scale = learned.scale
    return {LABELS: list(learned.names.values()), SCALE: [scale.black, scale.white]}


def _past(learned: Learned, folder: ModelFolder) -> tuple[Past, Tally]:
    """Where the new version starts, and what has been taught since."""
    if not folder.exists:
        return Past(None, learned.pupil, {}, torch.empty(0)), _everything(learned)
    is_ours = learned.home is not None and learned.home.resolve() == folder.path.resolve()
    if learned.past is None or not is_ours:
        raise FolderError(f"{folder.path} is another model: save into a folder of its own")
    assert learned.past.version is not None
    if learned.past.version.version != folder.current:
        raise FolderError(
            f"{folder.path} is at version {folder.current} by now: load that, and learn again"
        )
    return learned.past, learned.since


def _everything(learned: Learned) -> Tally:
    """All that was ever taught."""
    known = learned.past.version.classes if learned.past and learned.past.version else ()
    found = {one.name: _counts(one) for one in known}
    for name, (taught, held) in learned.since.of.items():
        before = found.get(name, (0, 0))
        found[name] = (before[0] + taught, before[1] + held)
    return Tally(found)


def _counts(one: KnownClass) -> tuple[int, int]:
    return max(0, one.photographs - one.held_out), one.held_out


def _kept(learned: Learned) -> Keepsakes:
    """The photographs that the model kept before; their files go with it."""
    if learned.past is None or learned.past.version is None or learned.home is None:
        return Keepsakes((), torch.empty(0, learned.pupil.trunk.width), {})
    photographs = learned.past.version.kept
    files = {one.hash: ModelFolder(learned.home).kept_file(one.hash) for one in photographs}
    return Keepsakes(
        photographs,
        learned.past.kept_features,
        {hashed: file.read_bytes() for hashed, file in files.items()},
    )


def _names(description: Description) -> dict[str, Hashable]:
    """The labels that a program had, or the names themselves."""
    labels = description.settings.get(LABELS, description.names)
    if not isinstance(labels, list | tuple) or len(labels) != len(description.names):
        raise FolderError("the labels of the model are damaged: roll it back")
    if not all(isinstance(one, PLAIN) for one in labels):
        raise FolderError("the labels of the model are damaged: roll it back")
    return dict(zip(description.names, labels, strict=True))


def _check_names(learned: Learned) -> None:
    for name, label in learned.names.items():
        if not isinstance(label, PLAIN):
            raise SettingsError(f"the label {name} cannot be saved: use text or a number")
        decode(ClassName, name, f"class {name!r}")
