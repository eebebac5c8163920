"""Ensemble -> export: ONNX, and model files that run no code when they are loaded."""

from jarf.export._onnx import export_onnx, onnx_inputs
from jarf.export._save import load, save

__all__ = ["export_onnx", "load", "onnx_inputs", "save"]
