"""Table in, float matrix out: DataFrames, categories and missing values, for every estimator."""

from jarf.table._columns import Column, as_levels, as_numbers
from jarf.table._copies import row_groups
from jarf.table._encoder import TableEncoder, TableState
from jarf.table._filling import N_FOREST_SWEEPS, N_SWEEPS, ForestFill, LinearFill
from jarf.table._input import fit_table, read_table, share_table, take_tables
from jarf.table._parts import Levels, Numbers, OneHot, Ordered, Part, TargetMeans
from jarf.table._reading import read_columns
from jarf.table._refusals import check_numbers, checked_table, refuse_dask
from jarf.table._target import encode_classes

__all__ = [
    "N_FOREST_SWEEPS",
    "N_SWEEPS",
    "Column",
    "ForestFill",
    "Levels",
    "LinearFill",
    "Numbers",
    "OneHot",
    "Ordered",
    "Part",
    "TableEncoder",
    "TableState",
    "TargetMeans",
    "as_levels",
    "as_numbers",
    "check_numbers",
    "checked_table",
    "encode_classes",
    "fit_table",
    "read_columns",
    "read_table",
    "refuse_dask",
    "row_groups",
    "share_table",
    "take_tables",
]
