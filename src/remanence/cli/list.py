"""What can be chosen, one line each.

The names are those of files: a method is added by adding a file to remanence/methods, or chosen
from a module of your own by its path, as in method=my_package.my_method.
"""

from __future__ import annotations

import argparse
import json

KINDS = ("methods", "effects", "data", "backbones", "recipes", "orders")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that the command understands."""
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--json", action="store_true", help="as JSON, for scripts")


def call(args: argparse.Namespace) -> None:
    """Print the names and what each says of itself."""
    found = _found(args.kind)
    if args.json:
        print(json.dumps(found, indent=2))
        return
    width = max(len(name) for name in found)
    for name, about in found.items():
        print(f"{name:{width}}  {about}")


def _found(kind: str) -> dict[str, str]:
    from remanence.core import choices

    if kind == "recipes":
        from remanence.recipe import recipe_names, recipe_text

        return {name: str(recipe_text(name).get("about", "")) for name in recipe_names()}
    if kind == "orders":
        from remanence.orders import named_orders
        from remanence.stream import order_hash

        orders = named_orders()
        return {
            name: f"{len(order)} classes, {order_hash(order)}" for name, order in orders.items()
        }
    return {name: choices.summary(kind, name) for name in choices.names(kind)}
