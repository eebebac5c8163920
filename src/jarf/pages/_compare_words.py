"""The parts of a comparison page for readers who are new to all this."""

from __future__ import annotations

from html import escape
from typing import Any

__all__ = ["glossary_html", "glossary_terms", "next_steps", "next_steps_html"]


def next_steps_html(summary: dict[str, Any]) -> str:
    """What to do now: which method, what to check first, and code to paste."""
    html = "".join(f"<p>{escape(line)}</p>" for line in next_steps(summary))
    if summary["code"]:
        html += f"<pre>{escape(summary['code'])}</pre>"
    return html


def next_steps(summary: dict[str, Any]) -> list[str]:
    """The advice in sentences."""
    said = list(summary["advice"])
    if summary["warnings"]:
        said.append(
            "Before that, look at the warnings above: a column that would not be known at the time "
            "of the prediction makes every score here too good."
        )
    if summary["code"]:
        said.append("This code fits it to all rows of the table:")
    elif summary["advice"][0].startswith("Use "):
        said.append("It is a method of your own: fit it to all rows as you do elsewhere.")
    return said


def glossary_html(summary: dict[str, Any]) -> str:
    """The methods and the words of the page, each explained in a sentence or two."""
    rows = "".join(
        f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in glossary_terms(summary)
    )
    return f"<dl>{rows}</dl>"


def glossary_terms(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Methods and words, with their explanations."""
    run = summary["settings"].get("budget", {})
    methods = [
        (method["name"], _sentence(method["note"] or "a method that you registered"))
        for method in summary["methods"]
    ]
    classifies = summary["table"]["task"] == "classification"
    metric = (
        "Cohen's kappa: how much better than guessing with the same shares of classes the "
        "predictions are. 0 is guessing, 1 is perfect."
        if classifies
        else "R²: the share of the target's variance that the predictions explain. 0 is always "
        "predicting the mean, 1 is perfect."
    )
    return [
        *methods,
        (
            "split",
            f"The rows are cut into {run.get('folds', 'several')} parts at random; each part is "
            "predicted by models that were fitted to the others. With "
            f"{run.get('repeats', 'several')} such random cuts, scores are means over all parts.",
        ),
        ("score", metric),
        (
            "noise",
            "Another random cut into parts would change all scores a little. A difference that is "
            "too large to come from such chance is called more than noise.",
        ),
        (
            "direction",
            "A weighted sum of the numeric columns, such as 0.8 age - 0.6 debt. If the prediction "
            "changes along a direction rather than along single columns, a tree that may cut along "
            "it needs fewer cuts.",
        ),
        (
            "EJOP",
            "Expected Jacobian outer product: a table of how strongly a fitted forest's prediction "
            "reacts to small changes of the columns, averaged over rows. Its strongest directions "
            "are those along which the prediction changes most.",
        ),
        (
            "sensitivity",
            "How strongly the prediction reacts to one column, the others held fixed. It describes "
            "the forest, not causes.",
        ),
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
