"""Write a finished figure as PNG, SVG, or SVG for inclusion in a page."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from jarf._files import atomic_write
from jarf.pages._style import INK, Painter, drawing

__all__ = ["inline_svg", "save_figure", "save_png"]

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"


def save_figure(painter: Painter, folder: Path) -> None:
    """Write ``name.svg`` and ``name.png`` on white."""
    options = {"facecolor": "white", "bbox_inches": "tight"}
    kinds: dict[str, dict[str, Any]] = {"png": {"dpi": 160}, "svg": {"metadata": {"Date": None}}}
    with drawing():
        for kind, more in kinds.items():
            with atomic_write(
                folder / f"{painter.name}.{kind}", "wb", follow_links=False
            ) as stream:
                painter.figure.savefig(stream, format=kind, **more, **options)


def save_png(painter: Painter, path: Path, dpi: int = 200, *, white: bool = False) -> None:
    """Write one PNG file, without a background (for pages of either theme) or on white."""
    options = {"facecolor": "white", "bbox_inches": "tight"} if white else {"transparent": True}
    with drawing(), atomic_write(path, "wb", follow_links=False) as stream:
        painter.figure.savefig(
            stream, format="png", dpi=dpi, metadata={"Software": None}, **options
        )


def inline_svg(painter: Painter) -> str:
    """Return SVG for the page, with the page's text colour, hover texts and filter names.

    Everything is written by the XML library, which escapes what came from users.
    """
    stream = io.BytesIO()
    with drawing():
        painter.figure.savefig(
            stream, format="svg", metadata={"Date": None}, transparent=True, bbox_inches="tight"
        )
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(stream.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{_SVG}}}metadata":
                parent.remove(child)
    for element in root.iter():
        _rework(element, painter)
    width = float((root.get("viewBox") or "0 0 600").split()[2])
    root.set("style", f"max-width: {1.4 * width:.0f}px; min-width: {0.9 * width:.0f}px")
    root.set("role", "img")
    root.set("aria-label", painter.title)
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    return ET.tostring(root, encoding="unicode")


def _rework(element: ET.Element, painter: Painter) -> None:
    gid = element.get("id")
    if gid in painter.tips:
        for name, value in painter.tips[gid].items():
            element.set(name, value)
        element.set("class", "mark")
    if gid is not None:
        element.set("id", f"{painter.name}-{gid}")
    for name, value in list(element.attrib.items()):
        if name == f"{{{_XLINK}}}href" and value.startswith("#"):
            element.set(name, f"#{painter.name}-{value[1:]}")
        elif name in ("style", "clip-path", "fill", "stroke"):
            value = re.sub(r"url\(#([^)]+)\)", rf"url(#{painter.name}-\1)", value)
            element.set(name, value.replace(INK, "currentColor"))
