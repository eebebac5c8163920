"""Ordered categories are one column that keeps the order."""

import numpy as np
import pytest

from jarf import AxisForestClassifier, JARFClassifier, SPORFClassifier
from jarf.export import load, save
from jarf.inspection import explain_split
from jarf.table import TableEncoder, read_columns

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytest.importorskip("narwhals")

SIZES = ["small", "medium", "large", "huge"]
RNG = np.random.default_rng(0)
DRAWN = RNG.integers(0, 3, 200)  # nothing is huge


def frame(kind=SIZES, ordered=True):
    size = pd.Categorical.from_codes(DRAWN, categories=kind, ordered=ordered)
    return pd.DataFrame({"size": size, "noise": RNG.normal(size=200)})


FRAME, LABELS = frame(), DRAWN > 0


def encoded(table, new=None):
    fitted = TableEncoder().fit(read_columns(table))
    return fitted, fitted.encode(read_columns(table if new is None else new))


def test_pandas_and_polars_give_places_in_order():
    other = pl.DataFrame(
        {
            "size": pl.Series(FRAME["size"].tolist(), dtype=pl.Enum(SIZES)),
            "noise": FRAME["noise"].to_numpy(),
        }
    )
    for table in (FRAME, other):
        fitted, matrix = encoded(table)
        assert fitted.encoded_kinds_.tolist() == ["ordered", "number"]
        assert fitted.get_feature_names_out(["size", "noise"]).tolist() == ["size", "noise"]
        assert fitted.levels_ == {0: SIZES}
        assert not fitted.is_number[0]
        assert not fitted.is_identity_
        np.testing.assert_array_equal(matrix[:, 0], DRAWN)


def test_missing_and_unknown_levels_are_apart():
    new = pd.DataFrame({"size": ["huge", None, "tiny", "small"], "noise": 0.0})
    _, matrix = encoded(FRAME, new)
    assert matrix[:, 0].tolist() == [3, -1, -1, 0]


def test_levels_that_are_numbers():
    table = frame(kind=[10, 20, 30])
    _, matrix = encoded(table, pd.DataFrame({"size": [30, 10.0, np.nan], "noise": 0.0}))
    assert matrix[:, 0].tolist() == [2, 0, -1]
    with pytest.raises(ValueError, match="held text in fit and holds numbers now"):
        encoded(FRAME, pd.DataFrame({"size": [1, 2], "noise": 0.0}))


def test_categories_that_are_named_or_have_no_order_are_one_column_per_level():
    assert encoded(frame(ordered=False))[0].encoded_kinds_.tolist() == ["level"] * 3 + ["number"]
    named = TableEncoder(["size"]).fit(read_columns(FRAME), names=["size", "noise"])
    assert named.encoded_kinds_.tolist() == ["level"] * 3 + ["number"]
    other = TableEncoder(None).fit(read_columns(FRAME))
    assert other.encoded_kinds_.tolist() == ["ordered", "number"]


def test_cuts_in_words():
    model = AxisForestClassifier(1, max_features=None, bootstrap=False, random_state=0)
    assert explain_split(model.fit(FRAME, LABELS)) == "size <= small"
    gone = FRAME.assign(size=FRAME["size"].where(DRAWN > 0))
    assert explain_split(model.fit(gone, LABELS)) == "size <= small or size is missing"
    gone = FRAME.assign(size=FRAME["size"].where(DRAWN != 2))
    assert explain_split(model.fit(gone, DRAWN == 2)) == "size is missing"


@pytest.mark.parametrize(
    "model", [SPORFClassifier(5, random_state=0), JARFClassifier(n_estimators=5, random_state=0)]
)
@pytest.mark.parametrize("kind", [SIZES, [10, 20, 30]], ids=["text", "numbers"])
def test_saved_and_exported(model, kind, tmp_path):
    table = frame(kind)
    model.fit(table, LABELS)
    save(model, tmp_path / "model")
    new = table.assign(size=table["size"].where(np.arange(200) % 5 > 0))
    known = model.predict_proba(new)
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(new), known)
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from jarf.export import export_onnx, onnx_inputs

    session = onnxruntime.InferenceSession(
        export_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, onnx_inputs(model, new))[1]
    np.testing.assert_allclose(found, known, atol=1e-6)
