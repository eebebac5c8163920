"""The ``jarf`` command: one sub-command a file."""

from __future__ import annotations

import argparse
import sys

from jarf import __version__
from jarf.cli import _compare, _demo, _report, _reproduce

COMMANDS = (_demo, _compare, _reproduce, _report)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="jarf", description="Jacobian aligned random forests from the command line."
    )
    parser.add_argument("--version", action="version", version=f"jarf {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.add_parser(commands)
    return parser


def main(argv=None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None means those of the process.

    Returns
    -------
    int
    """
    arguments = build_parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except KeyboardInterrupt:
        print("jarf: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"jarf: {error}", file=sys.stderr)
        return 1
