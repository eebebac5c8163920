"""
From pickle to ONNX
===================

This example stores a fitted model in three ways: as a pickle for your own use, as a model file that
runs no code when it is loaded, and as an ONNX graph that does not need Python.
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
# A pickle keeps everything, including the surrogate, and requires the same package versions.
# Loading a pickle can run any code: never load one from someone you do not trust.

text = pickle.dumps(model)
print("identical predictions:", np.array_equal(pickle.loads(text).predict_proba(X), answers))

# %%
# A model file
# ------------
# A model file contains arrays and a manifest with their checksums. ``load`` creates objects of a
# fixed list of classes and checks every array. ``save`` returns a digest. Keep it elsewhere to
# verify later that the file has not been replaced.

digest = save(model, folder / "model.jarf")
again = load(folder / "model.jarf", sha256=digest)
print("identical predictions:", np.array_equal(again.predict_proba(X), answers))

# %%
# If a single byte changes, the file is rejected.

damaged = bytearray((folder / "model.jarf").read_bytes())
damaged[len(damaged) // 2] ^= 1
(folder / "damaged.jarf").write_bytes(damaged)
try:
    load(folder / "damaged.jarf")
except ValueError as error:
    print("rejected:", str(error).replace(str(folder), "..."))

# %%
# ONNX
# ----
# The graph contains the encoding, the map and the trees, and uses standard operators only.
# ``onnx_inputs`` creates its inputs from a table; here they are one matrix of doubles.

export_onnx(model, folder / "model.onnx")
session = onnxruntime.InferenceSession(folder / "model.onnx")
labels, probabilities = session.run(None, onnx_inputs(model, X))
print("identical labels:", np.array_equal(labels, model.predict(X)))
print(f"largest difference in probability: {np.abs(probabilities - answers).max():.1e}")

# %%
# The pickle is the largest of the three files, because it contains the surrogate, which only
# ``fit`` needs.

sizes = {"pickle": len(text)}
sizes |= {path.name: path.stat().st_size for path in (folder / "model.jarf", folder / "model.onnx")}
for name, size in sizes.items():
    print(f"{name:12} {size / 1024:6.0f} kB")
