"""Table in, float matrix out: DataFrames, categories and missing values, for every estimator."""

from jarf.table._encoder import TableEncoder
from jarf.table._input import fit_table, read_table, share_table, take_tables
from jarf.table._target import encode_classes

__all__ = [
    "TableEncoder",
    "encode_classes",
    "fit_table",
    "read_table",
    "share_table",
    "take_tables",
]
