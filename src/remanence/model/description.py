"""What a version of a model says of itself: `model.json`, typed, and nothing in it unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from remanence.core.errors import FolderError, SettingsError
from remanence.core.json_text import parsed
from remanence.core.settings import (
    AtLeastOne,
    AtLeastZero,
    Fraction,
    NotNegative,
    Positive,
    Settings,
    decode,
    encode,
    refused,
    settings,
)

FORMAT: Literal[2] = 2
LARGEST = 64 * 2**20  # bytes; a description that is larger is none of ours
LARGEST_SIDE = 2048  # pixels; what asks for more asks for all the memory there is

Transform = Literal["none", "unit", "rooted"]
Percent = Annotated[float, Field(ge=0, le=100)]
Three = tuple[float, float, float]


def _is_name(name: str) -> str:
    if not name or not name.isprintable() or name in (".", "..") or set(name) & {"/", "\\"}:
        raise refused("a class is called by printable text without slashes")
    return name


def _is_hash(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise refused("should be 32 hexadecimal digits")
    return text


Side = Annotated[int, Field(ge=1, le=LARGEST_SIDE)]
ClassName = Annotated[str, AfterValidator(_is_name)]
Hash = Annotated[str, AfterValidator(_is_hash)]


@settings
class KnownClass(Settings):
    """A class: since when it is known, and how well.

    version, made: in which it was first learned, and when.
    photographs: it was learned from so many, in all versions together.
    held_out: it is measured on so many that were not learned from.
    remembered: the percentage of those that were recognised, in each version since.
    """

    name: ClassName
    version: AtLeastOne
    made: str
    photographs: AtLeastZero
    held_out: AtLeastZero = 0
    remembered: Mapping[AtLeastOne, Percent] = Field(default_factory=dict)


@settings
class Preprocessing(Settings):
    """How a photograph becomes what the trunk sees.

    The middle of the upright image, `centre` of its shorter side, is scaled to a square of `side`
    pixels (bilinear, antialiased), divided by 255, and normalised for red, green and blue.
    """

    side: Side
    mean: Three
    std: tuple[Positive, Positive, Positive]
    centre: Fraction


@settings
class KeptPhotograph(Settings):
    """An old photograph that is kept: the place of its class, its file by its hash, its name."""

    label: AtLeastZero
    hash: Hash
    name: str
    bytes: AtLeastOne


@settings
class Measured(Settings):
    """Accuracy on the held-out photographs in percent; None where there are none.

    before: what the version before came to on the classes that are old now.
    """

    all: Percent | None = None
    old: Percent | None = None
    new: Percent | None = None
    before: Percent | None = None

    @property
    def forgotten(self) -> float | None:
        """Points that the old classes have lost."""
        if self.before is None or self.old is None:
            return None
        return self.before - self.old


@settings
class Description(Settings):
    """All of a version but its numbers.

    format: of this file. version, parent, made: which it is, what it was learned from, when.
    classes: in the order of the outputs. backbone: of the trunk, as settings.
    transform: of the features, before the head's weight and bias. temperature: divides logits.
    kept: photographs for later. measured: how it did. refused: why it was not made current.
    settings: of the method that learned it. software: versions. seconds: that its lesson took.
    """

    format: Literal[2]
    version: AtLeastOne
    parent: AtLeastOne | None = None
    made: str
    classes: tuple[KnownClass, ...] = Field(min_length=1)
    backbone: Mapping[str, Any]
    preprocessing: Preprocessing
    transform: Transform
    temperature: Positive
    kept: tuple[KeptPhotograph, ...] = ()
    measured: Measured = Measured()
    refused: str | None = None
    settings: Mapping[str, Any] = Field(default_factory=dict)
    software: Mapping[str, str] = Field(default_factory=dict)
    seconds: NotNegative | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What the outputs are called."""
        return tuple(one.name for one in self.classes)


def as_json(description: Description) -> str:
    """The text of `model.json`."""
    return json.dumps(encode(description), indent=2, ensure_ascii=False) + "\n"


def read(path: Path) -> Description:
    """What a `model.json` says; a FolderError names what is wrong with it."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError("it is far too large")
        tree = parsed(path.read_text(encoding="utf-8"))
        if not isinstance(tree, dict):
            raise ValueError("it is no object")
        description = decode(Description, _known(tree))
        _check(description)
    except OSError as error:
        raise FolderError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, SettingsError, RecursionError) as error:
        raise FolderError(f"cannot read {path}: {error}; it is damaged, or no model") from None
    return description


def _known(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tree in today's format, if it came in one that is known."""
    found = tree.get("format")
    if isinstance(found, int) and found > FORMAT:
        raise ValueError(f"format {found} is of a later release of remanence: install that")
    for older, migrated in MIGRATIONS.items():
        if tree.get("format") == older:
            tree = migrated(tree)
    return tree


def _with_time(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """From format 1, which did not say how long a lesson took."""
    if "seconds" in tree:
        raise ValueError("seconds: unknown in format 1")
    return {**tree, "format": 2, "seconds": None}


MIGRATIONS = {1: _with_time}  # by the format that they start from, the oldest first


def _check(description: Description) -> None:
    names = description.names
    if len(set(names)) < len(names):
        raise ValueError("classes: two have the same name")
    if any(one.label >= len(names) for one in description.kept):
        raise ValueError("kept: a label has no class")
