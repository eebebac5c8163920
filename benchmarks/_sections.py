"""Shared by benchmarks with several sections: the command line and Markdown tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def as_markdown(rows: list[dict]) -> str:
    def cell(value) -> str:
        return (
            f"{value:.3f}"
            if isinstance(value, float)
            else f"{value:,}"
            if isinstance(value, int)
            else value
        )

    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([cell(row[name]) for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def run_sections(doc: str, sections: dict[str, Callable[..., list[dict]]], **numbers: int) -> None:
    """Run the requested sections; ``numbers`` are options and defaults, passed to every section."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    given = [getattr(options, name) for name in numbers]
    texts = []
    for name in options.only:
        rows = sections[name](*given)
        texts.append(f"## {name}: {sections[name].__doc__}\n\n{as_markdown(rows)}\n")
        print(texts[-1], flush=True)
    if options.markdown:
        options.markdown.write_text("\n".join(texts))
