"""Sphinx settings: `sphinx-build -W --keep-going docs docs/_build` makes the site."""

import os
from importlib.metadata import version as installed

os.environ.setdefault("OMP_NUM_THREADS", "2")

project = "jarf"
author = "the jarf developers"
version = release = installed("jarf")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # loads nothing from other hosts
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto_examples/**.ipynb", "auto_examples/**.py.md5"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = f"jarf {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = False

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc documents the types
numpydoc_show_class_members = False
python_maximum_signature_line_length = 80

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/",  # every script is run
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "ignore_repr_types": "jarf.inspection",  # show the plot only
    "remove_config_comments": True,
    "min_reported_time": 1e6,
    "doc_module": ("jarf",),
    "backreferences_dir": "generated/examples",
    "reference_url": {"jarf": None},
}
