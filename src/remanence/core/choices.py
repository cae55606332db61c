"""The folder is the registry: a name is a file name, and adding a choice is adding one file."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import PlainValidator, TypeAdapter, ValidationError

from remanence.core.errors import SettingsError
from remanence.core.settings import Choice, nearest, refused, within

C = TypeVar("C", bound=Choice)
_PACKAGE = Path(__file__).parents[1]


def names(kind: str) -> list[str]:
    """The names there are of a kind ('methods', 'effects', ...), without importing them."""
    files = (_PACKAGE / kind).glob("*.py")
    return sorted(file.stem for file in files if file.stem not in ("__init__", "base"))


def summary(kind: str, name: str) -> str:
    """The first line of what a file says about itself, without importing it."""
    source = (_PACKAGE / kind / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def caveat(kind: str, name: str) -> str:
    """What that line says in square brackets: it belongs wherever results are shown."""
    found = re.search(r"\[.+\]", summary(kind, name)) if name in names(kind) else None
    return found[0] if found else ""


def choose(kind: str, name: str) -> type[Choice]:
    """The class that a name stands for: a file of ours, or a module of the user's by its path."""
    path = f"remanence.{kind}.{name}" if name in names(kind) else name
    unknown = f"no {kind} by the name '{name}'"
    if not all(part.isidentifier() for part in name.split(".")):
        raise SettingsError(unknown + nearest(name, names(kind)))
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise SettingsError(unknown + nearest(name, names(kind))) from None
        if f"{name}.".startswith(f"{error.name}."):
            raise SettingsError(f"{unknown}: {error}") from None
        raise SettingsError(f"{path} cannot be imported: {error}") from None
    base = importlib.import_module(f"remanence.{kind}.base").__dict__["BASE"]
    for value in vars(module).values():
        is_one = isinstance(value, type) and issubclass(value, base) and value is not base
        if is_one and value.__module__ == path:
            return cast(type[Choice], value)
    raise SettingsError(f"{path} defines no {base.__name__}: a module by this name must hold one")


def build(kind: str, tree: Mapping[str, Any]) -> Any:
    """The choice that a tree with a `name` describes; raises while a larger tree is decoded."""
    try:
        cls = choose(kind, str(tree["name"]))
    except SettingsError as error:
        raise refused(str(error)) from None
    rest = {key: value for key, value in tree.items() if key != "name"}
    return TypeAdapter(cls).validate_python(rest)


def named(kind: str, *, may_be_open: bool = False) -> PlainValidator:
    """Annotation for a field that holds one choice: itself, its name, or a tree with a `name`."""

    def resolve(value: Any) -> Any:
        if isinstance(value, Choice) or (value is None and may_be_open):
            return value
        if isinstance(value, str):
            return build(kind, {"name": value})
        if isinstance(value, Mapping) and "name" in value:
            return build(kind, value)
        raise refused(f"say which by its name{nearest('', names(kind))}")

    return PlainValidator(resolve)


def chain(kind: str) -> PlainValidator:
    """Annotation for a field that holds several choices in order, each at most once."""

    def resolve(value: Any) -> tuple[Choice, ...]:
        if isinstance(value, tuple) and all(isinstance(item, Choice) for item in value):
            chain_names(kind, [item.name for item in value])
            return value
        rests = value if isinstance(value, Mapping) else dict.fromkeys(chain_names(kind, value))
        return tuple(link(name, rest) for name, rest in rests.items())

    def link(name: str, rest: Any) -> Choice:
        if not (rest is None or isinstance(rest, Mapping)):
            raise SettingsError(f"{kind}: set what {name} takes as in {kind}.{name}.KEY=value")
        try:
            return cast(Choice, build(kind, {**(rest or {}), "name": name}))
        except ValidationError as error:
            raise within(str(name), error) from None

    return PlainValidator(resolve)


def chain_names(kind: str, value: Any) -> list[str]:
    """The names of a chain that is written as 'a,b' or as a list."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        known = ", ".join(names(kind))
        raise SettingsError(f"{kind}: write the names as colliding,momentum; known: {known}")
    found = [part.strip() for part in parts if part.strip()]
    for name in found:
        if found.count(name) > 1:
            raise SettingsError(f"{kind}: {name} may be chosen once")
    return found
