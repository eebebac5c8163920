"""Draw the figure of the README, light and dark: `python docs/picture.py`."""

import runpy
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
HERE = Path(__file__).parent
TEXT = {"light": "#1f2328", "dark": "#e6edf3"}  # colours of GitHub's text


def main() -> None:
    """Run the quickstart once per theme and store its figure in ``_static``."""
    for theme, colour in TEXT.items():
        style = dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
            colour,
        )
        with mpl.rc_context(style):
            figure = runpy.run_path(str(HERE.parent / "examples" / "1_quickstart.py"))["figure"]
            path = HERE / "_static" / f"oblique-boundary-{theme}.png"
            figure.savefig(path, dpi=110, transparent=True, metadata={"Software": None})


if __name__ == "__main__":
    main()
