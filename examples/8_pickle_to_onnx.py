"""
From pickle to ONNX
===================

Three ways to keep a fitted model: a pickle for your own use, a model file that runs no code when it
is loaded, and an ONNX graph that needs no Python at all.
"""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer

from jarf import JARFClassifier
from jarf.export import export_onnx, load, onnx_inputs, save

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = JARFClassifier(n_estimators=50, random_state=0).fit(X, y)
answers = model.predict_proba(X)
folder = Path(tempfile.mkdtemp())

# %%
# A pickle
# --------
# Works, keeps everything, surrogate included, and needs the same versions of the packages. Loading
# a pickle runs whatever its author wanted to run: never load one from somebody you do not trust.

text = pickle.dumps(model)
print("same bits:", np.array_equal(pickle.loads(text).predict_proba(X), answers))

# %%
# A model file
# ------------
# Arrays and a manifest with their checksums. ``load`` makes objects of a fixed list of classes and
# checks every array. ``save`` returns a digest; kept elsewhere, it tells whether the file is the
# one that was saved.

digest = save(model, folder / "model.jarf")
again = load(folder / "model.jarf", sha256=digest)
print("same bits:", np.array_equal(again.predict_proba(X), answers))

# %%
# One changed byte, and the file is refused.

damaged = bytearray((folder / "model.jarf").read_bytes())
damaged[len(damaged) // 2] ^= 1
(folder / "damaged.jarf").write_bytes(damaged)
try:
    load(folder / "damaged.jarf")
except ValueError as error:
    print("refused:", str(error).replace(str(folder), "..."))

# %%
# ONNX
# ----
# Standard operators only: table, map and trees in one graph. ``onnx_inputs`` makes its inputs from
# a table; here that is one matrix of doubles.

export_onnx(model, folder / "model.onnx")
session = onnxruntime.InferenceSession(folder / "model.onnx")
labels, probabilities = session.run(None, onnx_inputs(model, X))
print("same labels:", np.array_equal(labels, model.predict(X)))
print(f"largest difference of a probability: {np.abs(probabilities - answers).max():.1e}")

# %%
# Sizes of the three. The pickle is the largest: it holds the surrogate, which only ``fit`` needs.

sizes = {"pickle": len(text)}
sizes |= {path.name: path.stat().st_size for path in (folder / "model.jarf", folder / "model.onnx")}
for name, size in sizes.items():
    print(f"{name:12} {size / 1024:6.0f} kB")
