import json
import struct

import numpy as np
import pytest

from jarf.trees import UnreadableTrees
from jarf.trees._ubjson import read_ubjson


def plain(value):
    """The value as JSON would have it."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | np.ndarray):
        return [plain(part) for part in value]
    return np.float32(value).item() if isinstance(value, float | np.floating) else value


def test_a_model_reads_as_its_json_does():
    xgboost = pytest.importorskip("xgboost")
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1)
    model.fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    text, binary = (bytes(model.get_booster().save_raw(kind)) for kind in ("json", "ubj"))
    assert plain(read_ubjson(binary)) == plain(json.loads(text))


def test_every_kind_of_value():
    content = b"{U\x01a[TFZ]U\x01b[#U\x02i\xffI\x01\x00U\x01c[$U#U\x03\x01\x02\xff"
    content += b"U\x01dSU\x02\xc3\xa9U\x01eD" + struct.pack(">d", 0.1) + b"U\x01f{}}"
    found = read_ubjson(content)
    np.testing.assert_array_equal(found.pop("c"), [1, 2, 255])
    assert found == {"a": [True, False, None], "b": [-1, 256], "d": "\u00e9", "e": 0.1, "f": {}}


def test_unknown_markers_are_refused():
    with pytest.raises(UnreadableTrees, match="unknown marker 'H'"):
        read_ubjson(b"[H]")
