"""Typed trees of settings: frozen dataclasses from Python, from files and from the command line.

A tree is decoded by pydantic, so that types, ranges and unknown keys are checked in one place;
what is added here are the nearest names, the one-line messages, and merging of overrides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, LiteralString, TypeVar, cast, dataclass_transform

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass as checked_dataclass
from pydantic_core import ArgsKwargs, InitErrorDetails, PydanticCustomError

from remanence.core.errors import SettingsError
from remanence.core.json_text import parsed

Tree = dict[str, Any]
_REFUSED: LiteralString = "refused"
T = TypeVar("T")
C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings(cls: C) -> C:
    """Make a class a frozen, keyword-only dataclass whose values are checked when it is made."""
    config = ConfigDict(extra="forbid", validate_default=False, arbitrary_types_allowed=True)
    return cast(C, checked_dataclass(cls, frozen=True, kw_only=True, config=config))


@settings
class Settings:
    """Base of everything that is chosen."""

    @model_validator(mode="before")
    @classmethod
    def _knows_every_key(cls, given: Any) -> Any:
        keys = given.kwargs or {} if isinstance(given, ArgsKwargs) else given
        if isinstance(keys, Mapping):
            known = [field.name for field in dataclasses.fields(cast(Any, cls))]
            for key in keys:
                if key not in known:
                    raise refused(f"unknown setting{nearest(str(key), known)}", key=key)
        return given


def _split_commas(value: Any) -> Any:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


Numbers = Annotated[tuple[float, ...], BeforeValidator(_split_commas)]
Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_split_commas)]
LARGEST = 3.4e38  # what a float32 holds
Positive = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
AtLeastOne = Annotated[int, Field(ge=1)]
AtLeastZero = Annotated[int, Field(ge=0)]


def refused(message: str, **context: Any) -> PydanticCustomError:
    """An error with a message of our own, to be raised while a tree is decoded."""
    return PydanticCustomError(_REFUSED, "{message}", {"message": message, **context})


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error message that names what was probably meant, or all there is."""
    known = sorted(known)
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(known)}" if known else "; there is none"


def decode(cls: type[T], tree: Any, root: str = "") -> T:
    """Build `cls` from a tree of plain values; the error names the path of what is wrong."""
    try:
        return TypeAdapter(cls).validate_python(tree)
    except ValidationError as error:
        raise SettingsError("; ".join(_lines(error, root))) from None


def within(key: str, error: ValidationError) -> ValidationError:
    """The same error, seen from one level further up."""
    details: list[InitErrorDetails] = [
        InitErrorDetails(
            type=refused(_message(line)),
            loc=(key, *_location(line)),
            input=line["input"],
        )
        for line in cast(list[dict[str, Any]], error.errors())
    ]
    return ValidationError.from_exception_data(error.title, details)


def _location(line: dict[str, Any]) -> tuple[int | str, ...]:
    key = line.get("ctx", {}).get("key")
    return (*line["loc"], key) if key is not None else tuple(line["loc"])


def _message(line: dict[str, Any]) -> str:
    return str(line["msg"]).removeprefix("Value error, ").removeprefix("Input ")


def _lines(error: ValidationError, root: str) -> Iterator[str]:
    for line in cast(list[dict[str, Any]], error.errors()):
        path = ".".join(str(part) for part in (root, *_location(line)) if part != "")
        message = _message(line)
        if line["type"] not in (_REFUSED, "value_error"):
            message += f" (got {line['input']!r})"
        yield f"{path}: {message}" if path else message


def encode(value: Any) -> Any:
    """The plain values of a tree of settings, such that `decode` gives the same tree again."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {"name": value.name} if isinstance(value, Choice) else {}
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return named | fields
    if isinstance(value, tuple) and value and all(isinstance(item, Choice) for item in value):
        return {item.name: {k: v for k, v in encode(item).items() if k != "name"} for item in value}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def filled(chosen: T, defaults: T) -> T:
    """`chosen`, with every setting that was left open (None) taken from `defaults`."""
    open_fields = {
        field.name: getattr(defaults, field.name)
        for field in dataclasses.fields(cast(Any, chosen))
        if getattr(chosen, field.name) is None
    }
    return cast(T, dataclasses.replace(cast(Any, chosen), **open_fields))


def merged(base: Mapping[str, Any], override: Mapping[str, Any]) -> Tree:
    """`base` with `override` laid over it; choosing another name drops the old one's settings."""
    result = dict(base)
    for key, value in override.items():
        below = result.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            other = "name" in value and value["name"] != below.get("name", value["name"])
            result[key] = dict(value) if other else merged(below, value)
        else:
            result[key] = value
    return result


def assignment(text: str) -> Tree:
    """`a.b=value` as a tree; the value is JSON where it can be, text where it cannot.

    >>> assignment("training.epochs=15")
    {'training': {'epochs': 15}}
    """
    path, equals, value = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise SettingsError(f"'{text}' is not a setting: write key=value, say memory.per_class=5")
    try:
        tree: Any = parsed(value)
    except ValueError:
        tree = None if value.strip().lower() == "none" else value.strip()
    for key in reversed(keys):
        tree = {key: tree}
    return cast(Tree, tree)


def differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two trees differ: path, value in one, value in the other ('absent' where none is)."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            below = f"{path}.{key}" if path else str(key)
            yield from differences(one.get(key, "absent"), other.get(key, "absent"), below)
    elif one != other:
        yield path, one, other


@settings
class Choice(Settings):
    """Settings that are chosen by name; the name is that of the file that defines them."""

    @property
    def name(self) -> str:
        """The name under which the command line and the files know this choice."""
        module = type(self).__module__
        return module.rpartition(".")[2] if module.startswith("remanence.") else module
