"""``jarf reproduce``: run or resume the paper's study and build its page."""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import Any

from jarf.cli._extras import require
from jarf.cli._running import add_run_options, chosen_methods, stoppable

_EPILOG = """\
examples:
  jarf reproduce --quick                     everything on small data, minutes, no download
  jarf reproduce --standard --data FOLDER    all 20 datasets, hours; can be stopped and resumed
  jarf reproduce --standard --only srbench   117 public regression tables of SRBench
  jarf reproduce --standard --only pmlb-classification
                                             55 public classification tables of PMLB
  jarf reproduce --standard --only theory    predictions of the paper's proofs, simulated
  jarf reproduce --large --data FOLDER       the 20 datasets at up to 50,000 training rows
  jarf reproduce --list                      experiments, methods and datasets
  jarf reproduce --quick --only simulation --methods RF JARF
  jarf reproduce --quick --method-file my_forest.py
"""


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "reproduce",
        help="run or resume the paper's study",
        description="Run the paper's study and build its page. Running the same command again "
        "resumes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = parser.add_mutually_exclusive_group()
    for name, text in (
        ("quick", "only data that ship with scikit-learn, minutes (default)"),
        ("standard", "20 datasets, at most 5,000 training rows, 5 x 2 splits, hours"),
        ("full", "the paper's sizes, days"),
        ("large", "accuracy and time at 1,000 to 50,000 training rows, a night"),
    ):
        size.add_argument(f"--{name}", dest="budget", action="store_const", const=name, help=text)
    parser.set_defaults(budget="quick", run=run)
    parser.add_argument(
        "--only", nargs="+", metavar="EXPERIMENT", help="run only these experiments"
    )
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="use only these datasets")
    parser.add_argument("--out", help="results folder (default: runs/BUDGET)")
    parser.add_argument("--data", help="folder with data files (default: JARF_DATA)")
    parser.add_argument(
        "--repeats", type=int, help="repeats of the two-fold split, or seeds of SRBench"
    )
    parser.add_argument(
        "--ablation-repeats",
        type=int,
        help="repeats for ablations, other variants of JARF and theory; more can be added later",
    )
    parser.add_argument(
        "--rows",
        nargs="+",
        type=int,
        metavar="N",
        help="training rows of the experiment on sizes, such as 1000 5000; the largest is also "
        "the most training rows of the experiment on theory",
    )
    parser.add_argument("--no-report", action="store_true", help="do not build the page")
    parser.add_argument(
        "--list", action="store_true", help="list experiments, methods and datasets, then exit"
    )
    add_run_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the sub-command and return its exit code."""
    require("jarf reproduce", "pandas", "matplotlib", "xgboost")
    from jarf import bench

    methods = chosen_methods(arguments)
    if arguments.list:
        print(_listing(), end="")
        return 0
    out = arguments.out or os.path.join("runs", arguments.budget)
    try:
        with stoppable(out):
            study = bench.reproduce(
                out,
                _budget(arguments),
                jobs=arguments.jobs,
                data=arguments.data,
                retry_errors=arguments.retry_errors,
                only=arguments.only,
                datasets=arguments.datasets,
                methods=methods,
                seed=arguments.seed,
            )
    except (bench.StoreError, bench.DatasetError, KeyError) as error:
        raise ValueError(error.args[0] if error.args else str(error)) from error
    if not arguments.no_report:
        _report(out)
    return 1 if study.missing else 0


def _budget(arguments: argparse.Namespace) -> Any:
    """Return the requested budget, with other repeats and sizes if requested."""
    from jarf.bench import get_budget

    asked = {
        "repeats": arguments.repeats,
        "public_repeats": arguments.repeats,
        "ablation_repeats": arguments.ablation_repeats,
    }
    changes: dict[str, Any] = {name: n for name, n in asked.items() if n is not None}
    for name, value in changes.items():
        if value < 1:
            option = name.removeprefix("public_").replace("_", "-")
            raise ValueError(f"--{option} must be at least 1")
    if arguments.rows is not None:
        if min(arguments.rows) < 1:
            raise ValueError("--rows must be at least 1")
        changes |= {"sizes": tuple(sorted(set(arguments.rows))), "theory_rows": max(arguments.rows)}
    return dataclasses.replace(get_budget(arguments.budget), **changes)


def _report(out: str) -> None:
    from jarf.report import build_report

    print(f"page: {build_report(out)}")


def _listing() -> str:
    from jarf import bench

    lines = ["experiments"]
    for experiment in bench.EXPERIMENTS.values():
        lines.append(f"  {experiment.name:<18} {experiment.title} ({experiment.paper})")
    lines.append("methods")
    for name in bench.method_names():
        method = bench.get_method(name)
        missing = f" (not installed: {', '.join(method.missing)})" if method.missing else ""
        lines.append(f"  {name:<18} {method.note}{missing}")
    lines.append("datasets")
    for name in bench.dataset_names():
        dataset = bench.get_dataset(name)
        if dataset.collection != "study":
            continue
        shape = f"{dataset.n_rows or '?'} x {dataset.n_features or '?'}"
        source = f"OpenML {dataset.openml_id}" if dataset.openml_id else ""
        facts = [dataset.task, shape, source, dataset.licence, dataset.note]
        lines.append(f"  {name:<18} " + ", ".join(fact for fact in facts if fact))
    lines.append("collections of other datasets, for --only of the same name")
    for collection in (bench.SRBENCH, bench.PMLB, bench.THEORY):
        names = [n for n in bench.dataset_names() if bench.get_dataset(n).collection == collection]
        lines.append(f"  {collection:<18} {len(names)}: {', '.join(names)}")
    return "\n".join(lines) + "\n"
