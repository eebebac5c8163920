"""Table in, float matrix out: DataFrames, categories and missing values, for every estimator."""

from jarf.table._encoder import TableEncoder
from jarf.table._input import fit_table, read_table, take_tables

__all__ = ["TableEncoder", "fit_table", "read_table", "take_tables"]
