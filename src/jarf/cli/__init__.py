"""The ``jarf`` command: one file per sub-command."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys

from jarf import __version__
from jarf.cli import _compare, _demo, _report, _reproduce
from jarf.pages import printable

COMMANDS = (_demo, _compare, _reproduce, _report)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="jarf", description="Jacobian aligned random forests from the command line."
    )
    parser.add_argument("--version", action="version", version=f"jarf {__version__}")
    parser.set_defaults(run=lambda arguments: _list_commands(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for module in COMMANDS:
        module.add_parser(commands)
    return parser


def _list_commands(parser: argparse.ArgumentParser) -> int:
    """Show the commands, for ``jarf`` without one."""
    parser.print_help()
    print("\nStart with 'jarf demo', or with your own table: jarf compare data.csv --target NAME")
    return 0


def main(argv: list[str] | None = None) -> int:
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
        code = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return _reader_is_gone()
    except KeyboardInterrupt:
        print("jarf: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"jarf: {printable(str(error))}", file=sys.stderr)
        return 1


def _reader_is_gone() -> int:
    """Exit quietly, as other tools do, when the reader of a pipe (``| head -1``) is gone."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141  # 128 + SIGPIPE, the usual exit status
