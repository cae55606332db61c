"""What the page of a model shows: versions, what is taken for what, photographs that are kept."""

from __future__ import annotations

from pathlib import Path

from remanence.core.errors import RemanenceError
from remanence.gathering.pictures import as_text, small
from remanence.learning.knowledge import Knowledge
from remanence.learning.wishes import Wishes
from remanence.model.description import Description, KeptPhotograph
from remanence.model.folder import ModelFolder
from remanence.photographs.shown import squares_of
from remanence.report.confusion import Counts, counted
from remanence.report.exhibit import Kept, Missing
from remanence.report.model_view import ModelView

SIDE = 72  # pixels of a kept photograph on the page
SHOWN = 20  # of a class


def model_view(path: Path) -> ModelView:
    """All that a model says of itself, and what its held-out photographs are taken for."""
    folder = ModelFolder(path)
    now = folder.describe()
    versions = tuple(folder.describe(number) for number in folder.versions)
    try:
        return ModelView(path, now, versions, _counts(folder, now))
    except RemanenceError as error:
        return ModelView(path, now, versions, None, f"Not shown: {error}.")


def _counts(folder: ModelFolder, now: Description) -> Counts:
    shrinkage = float(now.settings.get("shrinkage", Wishes().shrinkage))
    known = Knowledge.load(folder.memory(now.version), now.names, shrinkage)
    named = known.held_logits().argmax(1)
    return counted(known.held.labels.numpy(), named.numpy(), len(now.names))


def kept_photographs(path: Path) -> tuple[Kept, ...] | Missing:
    """Those of the version in use, class after class."""
    folder = ModelFolder(path)
    now = folder.describe()
    if not now.kept:
        return Missing("No photograph is kept.")
    try:
        return tuple(
            _strip(folder, name, some)
            for label, name in enumerate(now.names)
            if (some := [one for one in now.kept if one.label == label])
        )
    except RemanenceError as error:
        return Missing(f"Not shown: {error}.")


def _strip(folder: ModelFolder, name: str, kept: list[KeptPhotograph]) -> Kept:
    files = [folder.kept_file(one.hash) for one in kept[:SHOWN]]
    squares = squares_of(files, SIDE, centre=1.0)
    return Kept(name, len(kept), len(files), as_text([small(one) for one in squares]))
