"""``jarf report``: build page, figures and tables from stored results."""

from __future__ import annotations

import argparse
from typing import Any

from jarf.cli._extras import require


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "report",
        help="build a page from stored results",
        description="Build index.html, figures and tables from stored results. Fits nothing.",
    )
    parser.add_argument("results", help="a results folder of jarf reproduce")
    parser.add_argument("--out", help="where to write (default: RESULTS/report)")
    parser.add_argument(
        "--headline",
        metavar="FILE.md",
        help="also write the headline table between <!-- results:start --> and "
        "<!-- results:end --> of this file",
    )
    parser.add_argument(
        "--figure",
        nargs="+",
        default=[],
        metavar="FILE.md",
        help="also write the figure of accuracy against fit time, light and dark, into _static (or "
        "docs/_static) beside each file; show it and its sentence between "
        "<!-- figure:start --> and <!-- figure:end -->",
    )
    parser.add_argument(
        "--tables",
        metavar="FILE.md",
        help="also write all tables between the same markers of this file",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="EXPERIMENT",
        help="with --tables: only the tables and figures of these experiments",
    )
    parser.add_argument(
        "--images",
        metavar="FOLDER",
        help="with --tables: also write the figures into this folder and show them in the file",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the sub-command and return its exit code."""
    require("jarf report", "pandas", "matplotlib")
    for option in ("images", "only"):
        if getattr(arguments, option) and not arguments.tables:
            raise ValueError(f"--{option} needs --tables FILE.md, the file that shows them")
    from jarf import report
    from jarf.bench import StoreError

    try:
        print(report.build_report(arguments.results, arguments.out))
        if arguments.headline:
            text = report.headline_markdown(arguments.results)
            report.write_between_markers(arguments.headline, text)
        for path in arguments.figure:
            text = report.write_headline(report.load_results(arguments.results), path)
            report.write_between_markers(path, text, "figure")
        if arguments.tables:
            images = {}
            if arguments.images:
                images = report.write_images(
                    arguments.results, arguments.images, arguments.tables, arguments.only
                )
            text = report.tables_markdown(arguments.results, images, arguments.only)
            report.write_between_markers(arguments.tables, text)
    except StoreError as error:
        raise ValueError(str(error)) from error
    return 0
