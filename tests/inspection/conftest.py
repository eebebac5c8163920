"""Pictures without a screen, closed after every test."""

import pytest


@pytest.fixture(autouse=True)
def closed_figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")
