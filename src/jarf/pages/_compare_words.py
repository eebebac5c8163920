"""The parts of a comparison page for readers who are new to the methods."""

from __future__ import annotations

from html import escape
from typing import Any

__all__ = ["glossary_html", "glossary_terms", "next_steps", "next_steps_html"]


def next_steps_html(summary: dict[str, Any]) -> str:
    """Return what to do next as HTML: the method, what to check first, and code to paste."""
    html = "".join(f"<p>{escape(line)}</p>" for line in next_steps(summary))
    if summary["code"]:
        html += f"<pre>{escape(summary['code'])}</pre>"
    return html


def next_steps(summary: dict[str, Any]) -> list[str]:
    """Return the advice as sentences."""
    said = list(summary["advice"])
    if summary["warnings"]:
        said.append(
            "First read the warnings above: a column that is not known at prediction time makes "
            "every score here too optimistic."
        )
    if summary["code"]:
        said.append("The code below fits this method on all rows of the table:")
    elif summary["advice"][0].startswith("Use "):
        said.append("It is a method of your own: fit it on all rows as usual.")
    return said


def glossary_html(summary: dict[str, Any]) -> str:
    """Return the methods and terms of the page, explained in a sentence or two each."""
    rows = "".join(
        f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in glossary_terms(summary)
    )
    return f"<dl>{rows}</dl>"


def glossary_terms(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return methods and terms, with their explanations."""
    run = summary["settings"].get("budget", {})
    methods = [
        (method["name"], _sentence(method["note"] or "a method that you registered"))
        for method in summary["methods"]
    ]
    times = run.get("repeats", 1)
    repeats = "This is done once." if times == 1 else f"This is done {times} times."
    classifies = summary["table"]["task"] == "classification"
    metric = (
        "Cohen's kappa: agreement between predicted and true classes beyond chance. 0 is chance "
        "level, 1 is perfect."
        if classifies
        else "R²: the share of the target's variance that the predictions explain. 0 is always "
        "predicting the mean, 1 is perfect."
    )
    return [
        *methods,
        (
            "split",
            f"The rows are divided at random into {run.get('folds', 'several')} parts; each part "
            f"is predicted by models fitted on the others. {repeats} Scores are means over all "
            "parts.",
        ),
        ("score", metric),
        (
            "noise",
            "Another random division into parts would change all scores a little. A difference "
            "that is too large to be explained by chance is called more than noise.",
        ),
        (
            "direction",
            "A weighted sum of the numeric columns, such as 0.8 age - 0.6 debt. If the prediction "
            "changes along such a combination, a tree that can cut along it needs fewer cuts.",
        ),
        (
            "EJOP",
            "Expected Jacobian outer product: a matrix that measures how strongly a fitted "
            "forest's prediction changes with the columns, averaged over rows. Its leading "
            "eigenvectors are the directions along which the prediction changes most.",
        ),
        (
            "sensitivity",
            "How strongly the prediction changes with one column while the others are held fixed. "
            "It describes the forest, not causal effects.",
        ),
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
