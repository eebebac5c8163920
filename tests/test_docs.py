"""The site leaves nothing out: public names, pages, the place of the headline."""

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
MODULES = ["jarf", *(f"jarf.{name}" for name in ("ensemble", "inspection", "export", "bench"))]
MODULES += [f"jarf.{name}" for name in ("datasets", "geometry", "gradients", "trees", "dask")]


def listed(module):
    """The names of api.rst under a module."""
    parts = re.split(r"^\.\. currentmodule:: (\S+)$", (DOCS / "api.rst").read_text(), flags=re.M)
    text = dict(zip(parts[1::2], parts[2::2], strict=True))[module]
    return {*re.findall(r"^   (\w+)$", text, flags=re.M), *re.findall(r"``([A-Z_]+)``", text)}


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_its_place(module):
    if module == "jarf.dask":
        pytest.importorskip("dask.dataframe")
    public = {*importlib.import_module(module).__all__} - {"__version__", "datasets"}
    elsewhere = set() if module in ("jarf", "jarf.dask") else listed("jarf")
    assert listed(module) == public - elsewhere


def test_every_page_is_in_a_table_of_contents():
    named = {"index"}
    for page in ("index.md", "guide.md"):
        for block in re.findall(r"```{toctree}\n(.*?)```", (DOCS / page).read_text(), flags=re.S):
            named |= {line for line in block.splitlines() if line and not line.startswith(":")}
    assert {path.stem for path in (*DOCS.glob("*.md"), DOCS / "api.rst")} <= named


def test_the_home_page_shows_the_headline_of_the_readme():
    home, readme = (DOCS / "index.md").read_text(), (DOCS.parent / "README.md").read_text()
    for mark in ("<!-- results:start -->", "<!-- results:end -->"):
        assert mark in home
        assert readme.count(mark) == 1


def test_pages_begin_with_the_same_sentence_as_the_readme():
    pages = [DOCS.parent / "README.md", DOCS / "index.md", DOCS / "evidence.md"]
    parts = [page.read_text().split("<!-- figure:start -->")[1] for page in pages]
    first, *others = [part.split("<picture>")[0].strip() for part in parts]
    assert first.startswith("Without tuning, ")
    assert others == [first, first]


def test_the_figures_of_the_model_choice_are_those_of_the_study():
    """The table of choose.md repeats the headline, so a new study must update it."""
    readme = (DOCS.parent / "README.md").read_text()
    headline = readme.split("<!-- results:start -->")[1].split("<!-- results:end -->")[0]
    measured = {}
    for line in headline.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0][0].isalpha():
            measured[cells[0]] = [cells[at].split(" ")[0] for at in (1, 3, 5)]
    section = (DOCS / "choose.md").read_text().split("## What we measured")[1].split("## ")[0]
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()]
    rows = {cells[1]: cells[2:] for cells in shown if len(cells) == 5 and cells[1] in measured}
    ours = {"JF", "JB", "JE", "XGB+J", "JARF"}  # new ones join as soon as they have results
    assert ({"RF", "XGB"} | ours) & set(measured) <= set(rows)
    assert rows == {name: measured[name] for name in rows}


def test_the_images_of_the_readme_are_in_the_repository():
    readme = (DOCS.parent / "README.md").read_text()
    images = re.findall(r'(?:src|srcset)="([^"]+)"', readme)
    assert len(images) == 2  # light and dark
    for image in images:
        assert (DOCS.parent / image).is_file()


def test_the_readme_is_short_and_names_the_recommended_estimators_first():
    readme = (DOCS.parent / "README.md").read_text()
    assert len(readme.splitlines()) < 120
    assert readme.index("JacobianForestClassifier") < readme.index("JARF")
