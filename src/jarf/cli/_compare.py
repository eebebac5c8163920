"""``jarf compare``: compare methods on your own table and build a page."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Any

from jarf.cli._extras import require
from jarf.cli._running import add_run_options, chosen_methods, stoppable
from jarf.pages import printable

_EPILOG = """\
examples:
  jarf compare data.csv --target price
  jarf compare data.parquet --target churn --drop customer_id --rows 0
  jarf compare data.csv --target churn --methods RF JF JARF --learning-curve
  jarf compare data.csv --target churn --method-file my_forest.py
  jarf compare umsatz.csv --target Preis --sep ';' --decimal , --encoding cp1252

defaults: RF; tuned XGB, CatBoost and LGBM (if installed); the Jacobian forest JF, Jacobian
boosting JB and their ensemble JE; 2 x 5 folds; 200 trees; a random sample of at most 10,000 rows
(fewer above 200 columns) and the first 1,000 columns. Rows without a target are left out. The
separator and the decimal sign of a CSV file are detected. Running the same command again resumes
an interrupted run; a changed table starts from scratch.
"""


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "compare",
        help="compare methods on your own CSV or Parquet file",
        description="Cross-validate methods on your own table. Build a page that shows which "
        "method is best, whether the difference is more than noise, and which directions "
        "matter.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("table", help="a CSV or Parquet file with named columns")
    parser.add_argument("--target", required=True, help="the column to predict")
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        help="default: guessed from the target, with a note",
    )
    parser.add_argument("--cv", type=int, default=5, help="number of folds (default 5)")
    parser.add_argument(
        "--repeats", type=int, default=2, help="repeats of the cross-validation (default 2)"
    )
    parser.add_argument(
        "--rows",
        type=int,
        help="maximum number of rows, 0 for all (default: a random sample of 10,000)",
    )
    parser.add_argument("--drop", nargs="+", default=[], metavar="COLUMN", help="columns to ignore")
    parser.add_argument(
        "--metric",
        help="metric that decides: for classification kappa (default), accuracy, macro_f1, "
        "roc_auc, average_precision, "
        "brier, log_loss, ece; for regression r2 (default), rmse",
    )
    parser.add_argument(
        "--sep",
        type=lambda text: "\t" if text == r"\t" else text,
        help=r"separator of a CSV file, such as ';' or '\t' (default: detected)",
    )
    parser.add_argument(
        "--decimal",
        choices=(".", ","),
        metavar="SIGN",
        help="decimal sign of a CSV file, '.' or ',' (default: detected)",
    )
    parser.add_argument(
        "--encoding", help="encoding of a CSV file, such as cp1252 (default: UTF-8)"
    )
    parser.add_argument("--trees", type=int, default=200, help="trees per model (default 200)")
    parser.add_argument(
        "--learning-curve", action="store_true", help="also train on 1/8, 1/4 and 1/2 of the rows"
    )
    parser.add_argument("--out", help="folder for results and page (default: runs/compare-TABLE)")
    add_run_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the sub-command and return its exit code."""
    require("jarf compare", "pandas", "pyarrow", "matplotlib", "narwhals")
    from jarf import bench

    methods = chosen_methods(arguments)
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(arguments.table).name.split(".")[0])
    out = arguments.out or os.path.join("runs", f"compare-{stem}")
    with stoppable(out):
        try:
            found = bench.compare(
                arguments.table,
                arguments.target,
                task=arguments.task,
                methods=methods,
                cv=arguments.cv,
                repeats=arguments.repeats,
                rows=arguments.rows,
                drop=arguments.drop,
                metric=arguments.metric,
                learning_curve=arguments.learning_curve,
                n_trees=arguments.trees,
                sep=arguments.sep,
                decimal=arguments.decimal,
                encoding=arguments.encoding,
                out=out,
                n_jobs=arguments.jobs,
                seed=arguments.seed,
                retry_errors=arguments.retry_errors,
                verbose=True,
            )
        except bench.StoreError as error:
            raise ValueError(str(error)) from error
    page = found.save(out)
    print(printable(str(found)))
    print(f"page: {page}")
    return 1 if found.summary["errors"] else 0
