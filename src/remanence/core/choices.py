"""The folder is the registry: a name is a file name, and adding a choice is adding one file."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import PlainValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from remanence.core.errors import SettingsError
from remanence.core.settings import Choice, nearest, within

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


def choose(kind: str, name: str) -> type[Choice]:
    """The class that a name stands for: a file of ours, or a module of the user's by its path."""
    path = f"remanence.{kind}.{name}" if name in names(kind) else name
    unknown = SettingsError(f"no {kind} is called '{name}'{nearest(name, names(kind))}")
    if not all(part.isidentifier() for part in name.split(".")):
        raise unknown
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name and f"{path}.".startswith(f"{error.name}."):
            raise unknown from None
        raise SettingsError(f"{path} cannot be imported: {error}") from None
    base = importlib.import_module(f"remanence.{kind}.base").__dict__["BASE"]
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == path:
            return cast(type[Choice], value)
    raise SettingsError(f"{path} defines no {base.__name__}: a module by this name must hold one")


def _build(kind: str, name: Any, rest: Mapping[str, Any]) -> Choice:
    try:
        cls = choose(kind, str(name))
    except SettingsError as error:
        raise PydanticCustomError("missing_name", "{message}", {"message": str(error)}) from None
    return TypeAdapter(cls).validate_python(dict(rest))


def named(kind: str) -> PlainValidator:
    """Annotation for a field that holds one choice: itself, its name, or a tree with a `name`."""

    def resolve(value: Any) -> Any:
        if value is None or isinstance(value, Choice):
            return value
        if isinstance(value, str):
            return _build(kind, value, {})
        if isinstance(value, Mapping) and "name" in value:
            return _build(kind, value["name"], {k: v for k, v in value.items() if k != "name"})
        message = f"say which by its name{nearest('', names(kind))}"
        raise PydanticCustomError("missing_name", "{message}", {"message": message})

    return PlainValidator(resolve)


def chain(kind: str) -> PlainValidator:
    """Annotation for a field that holds several choices in order, each at most once."""

    def resolve(value: Any) -> Any:
        if isinstance(value, Mapping | str):
            value = list(chain_tree(value).items())
        links = tuple(link(item) for item in value)
        if len({item.name for item in links}) < len(links):
            raise PydanticCustomError("missing_name", "each may be chosen once", {})
        return links

    def link(item: Any) -> Choice:
        if isinstance(item, Choice):
            return item
        name, rest = item if isinstance(item, tuple) else (item, {})
        try:
            return _build(kind, name, rest or {})
        except ValidationError as error:
            raise within(str(name), error) from None

    return PlainValidator(resolve)


def chain_tree(value: Any) -> dict[str, Any]:
    """The canonical form of a chain, `{name: settings}`, from that, from 'a,b', or from a list."""
    if isinstance(value, Mapping):
        return {key: dict(rest or {}) for key, rest in value.items()}
    parts = value.split(",") if isinstance(value, str) else value
    return {str(part).strip(): {} for part in parts if str(part).strip()}
