"""The estimators for Dask arrays and DataFrames, with lazy predictions.

Works with a ``dask.distributed.Client``, a ``LocalCluster`` and without either. Needs the extra
``jarf[dask]``.
"""

try:
    import dask.dataframe  # noqa: F401
except ImportError as error:
    raise ImportError("jarf.dask needs Dask: pip install 'jarf[dask]'") from error

from jarf.dask._jacobian_forest import JacobianForestClassifier, JacobianForestRegressor
from jarf.dask._jarf import JARFClassifier, JARFRegressor
from jarf.dask._preconditioner import JacobianPreconditioner

__all__ = [
    "JARFClassifier",
    "JARFRegressor",
    "JacobianForestClassifier",
    "JacobianForestRegressor",
    "JacobianPreconditioner",
]
