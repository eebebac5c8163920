import subprocess
import sys

import numpy as np
import pytest

from jarf.inspection import EJOPSpectrumDisplay


def test_pictures_and_onnx_are_imported_only_when_asked_for():
    code = (
        "import sys, jarf.inspection, jarf.export;"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'onnx', 'onnxruntime')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"jarf\[plot\]"):
        EJOPSpectrumDisplay(np.ones(2)).plot()
