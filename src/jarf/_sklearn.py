"""The only file that touches scikit-learn's private names.

When a scikit-learn release moves one of them, this is the file to mend.
"""

from __future__ import annotations

from sklearn.base import _fit_context as fit_context
from sklearn.ensemble._base import _set_random_states as set_random_states
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
)
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "check_feature_names_in",
    "check_sample_weight",
    "fit_context",
    "set_random_states",
]
