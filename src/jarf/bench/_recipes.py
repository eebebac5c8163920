"""Code that a reader of a comparison can paste: read the table and fit the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Recipe", "TableRecipe", "example_code"]


@dataclass(frozen=True)
class Recipe:
    """Code that builds the model of a method.

    ``{Kind}`` stands for Classifier or Regressor, ``{trees}`` for the number of trees.

    Attributes
    ----------
    imports : tuple of str
        Import lines.
    model : str
        An expression that builds the model.
    takes_tables : bool
        Whether the model accepts categories and missing values.
    numbers_classes : bool
        Whether classes must be numbered 0, 1, ...
    """

    imports: tuple[str, ...]
    model: str
    takes_tables: bool = False
    numbers_classes: bool = False


@dataclass(frozen=True)
class TableRecipe:
    """Facts about how a user's table was read.

    Attributes
    ----------
    path : str
        Empty for a table in memory.
    options : mapping
        Options of ``pandas.read_csv`` that differ from the defaults.
    target : str
    drop : sequence of str
    converted : sequence of str
        Lines of code that convert columns of dates or amounts to numbers.
    plain : bool
        Whether all columns are numeric without missing values.
    """

    path: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    target: str = "target"
    drop: Sequence[str] = ()
    converted: Sequence[str] = ()
    plain: bool = True


_ENCODE = """\
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    remainder=SimpleImputer(strategy="median"),
)
model = make_pipeline(encode, {model})"""
_ENCODE_IMPORTS = (
    "from sklearn.compose import make_column_selector, make_column_transformer",
    "from sklearn.impute import SimpleImputer",
    "from sklearn.pipeline import make_pipeline",
    "from sklearn.preprocessing import OneHotEncoder",
)


def example_code(recipe: Recipe, table: TableRecipe, task: str, n_trees: int) -> str:
    """Return Python code that reads the table and fits the model on all rows.

    Examples
    --------
    >>> from jarf.bench._recipes import Recipe, TableRecipe, example_code
    >>> recipe = Recipe(("from jarf import JacobianForest{Kind}",), "JacobianForest{Kind}()", True)
    >>> print(example_code(recipe, TableRecipe("t.csv", target="y"), "regression", 200))
    import pandas as pd
    from jarf import JacobianForestRegressor
    <BLANKLINE>
    table = pd.read_csv('t.csv').dropna(subset=['y'])
    X, y = table.drop(columns=['y']), table['y']
    model = JacobianForestRegressor()
    model.fit(X, y)
    """
    kind = "Classifier" if task == "classification" else "Regressor"
    words = {"Kind": kind, "trees": n_trees}
    imports = [line.format(**words) for line in recipe.imports]
    model = f"model = {recipe.model.format(**words)}"
    if not recipe.takes_tables and not table.plain:
        imports += _ENCODE_IMPORTS
        model = _ENCODE.format(model=recipe.model.format(**words))
    lines = _read_lines(table)
    if recipe.numbers_classes and task == "classification":
        imports.append("from sklearn.preprocessing import LabelEncoder")
        lines.append("y = LabelEncoder().fit_transform(y)")
    if table.path or table.converted:
        imports.insert(0, "import pandas as pd")
    return "\n".join([*imports, "", *lines, model, "model.fit(X, y)"])


def _read_lines(table: TableRecipe) -> list[str]:
    reader = "read_parquet" if table.path.endswith((".parquet", ".pq")) else "read_csv"
    options = "".join(f", {name}={value!r}" for name, value in table.options.items())
    lines = [f"table = pd.{reader}({table.path!r}{options}).dropna(subset=[{table.target!r}])"]
    if not table.path:
        lines = [f"# table: your DataFrame, with the target in the column {table.target!r}"]
    if table.converted:
        lines += ["# dates and amounts as numbers, as in the comparison", *table.converted]
    left_out = [table.target, *table.drop]
    return [*lines, f"X, y = table.drop(columns={left_out!r}), table[{table.target!r}]"]
