"""The command line: words to calls. Nothing heavy is imported before a command is chosen."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from remanence.core.errors import RemanenceError, one_line

COMMANDS = {
    "demo": "compare finetune, LUCIR and LUCIR+DDE on the embedded digits, in two minutes",
    "learn": "teach a model the classes in a folder of photographs; add more of them later",
    "predict": "names with probabilities for photographs",
    "evaluate": "how well a model does on photographs that it has not seen",
    "info": "what a model knows: classes, what is kept, settings, versions",
    "history": "the versions of a model, and how each did",
    "rollback": "use another version of a model",
    "prune": "delete old versions of a model",
    "serve": "an HTTP API and a page: show a model photographs, teach it new classes",
    "export": "a model, or a reading of a run, as one ONNX or safetensors file, checked",
    "run": "run a recipe, with settings of your own laid over it; go on where it was cut",
    "grid": "many runs: every combination of settings, on this machine or a cluster",
    "show": "what runs came to: every reading of each in one table, and a picture",
    "report": "one page of runs or of a model: curves, classes, images; a file without a network",
    "list": "what there is: methods, effects, data, backbones, recipes, orders",
    "reproduce": "the paper's tables: cells and their time, ours beside the paper's",
    "bench": "how fast it is here: ratios against a floor and against a plain rendering",
    "explain": "all settings of a run or recipe, and which of them differ from the recipe",
    "pack": "decode photographs once, into a copy that is mapped into memory",
    "download": "fetch a data set and check it",
}

EXIT_CODES = """\
exit codes: 0 done, 1 failed, 2 wrong settings or words, 3 data missing or damaged,
4 a folder or file cannot be used, 5 learned but not taken into use,
130 and 143 stopped by a signal with everything saved"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that the words name; the exit code."""
    parser = _Parser(
        prog="remanence",
        description="Class-incremental learning in which the effect of the old data stays.",
        epilog=f"start with: remanence demo\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, help_line in COMMANDS.items():
        module = import_module(f"remanence.cli.{name}")
        command = commands.add_parser(
            name,
            help=help_line,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(call=module.call)
    args = _with_settings(parser, words)
    if args.version:
        from importlib.metadata import version

        print(version("remanence"))
        return 0
    if args.command is None:
        parser.print_help()
        return 2
    return _call(args)


class _Parser(argparse.ArgumentParser):
    """An error is one line that says where help is."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {one_line(message)}; see '{self.prog} --help'", file=sys.stderr)
        sys.exit(2)


def _with_settings(
    parser: argparse.ArgumentParser, words: Sequence[str] | None
) -> argparse.Namespace:
    """Parse, and take key=value words wherever they stand; argparse wants them in one place."""
    args, others = parser.parse_known_args(words)
    takes_settings = hasattr(args, "settings")
    unknown = [w for w in others if w.startswith("-") or "=" not in w or not takes_settings]
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if takes_settings:
        args.settings = [*args.settings, *others]
    return args


def _call(args: argparse.Namespace) -> int:
    sys.path.append(os.getcwd())  # methods and effects of the user's own, by the name of a module
    try:
        args.call(args)
        sys.stdout.flush()
    except RemanenceError as error:
        print(f"remanence: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("remanence: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        where = one_line(str(error.filename or "the system"))
        print(f"remanence: {where}: {error.strerror or error}; choose another", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
