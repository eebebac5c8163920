"""Tracks: one split of the training rows, its surrogates, and the forests that grow with them.

The race runs on tracks, and the forests that predict held-out rows grow on them. No surrogate and
no tree of a track sees the label of a row that the track scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jarf.ensemble._cross_fit import Predicted, Split, scored_rows
from jarf.ensemble._geometries import Geometry
from jarf.ensemble._growth import Rules
from jarf.ensemble._holdout import with_more_to_learn
from jarf.ensemble._jacobian_growth import Gradients, JacobianGrowth, NodeSizes, needed_sources
from jarf.ensemble._race import Pilot
from jarf.ensemble._sources import Source, Table, fit_sources
from jarf.trees import Forest, Target, grow_forest, make_columns, stream, tree_seeds

# Trees of the forests that predict held-out rows after a race.
N_TREES = 40


@dataclass(frozen=True, eq=False)
class Course:
    """The training rows and settings that all tracks share.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32
    table : Table
        The same rows, standardised.
    target : Target
    sizes : NodeSizes
    seed : int
    n_jobs : int
    """

    X: np.ndarray
    table: Table
    target: Target
    sizes: NodeSizes
    seed: int
    n_jobs: int | None

    def track(self, split: Split, geometries: Sequence[Geometry], name: str) -> Track:
        """Fit small surrogates of these geometries on the learning rows of a split."""
        learn, score = split
        table = replace(self.table.only(learn), trial=True)
        fitted = fit_sources(
            needed_sources(geometries),
            *(table, self.target.only(learn), self.seed, name, self.n_jobs),
        )
        return Track(self, learn, score, fitted, name)


class Track:
    """Forests that learn from some rows and are scored on others.

    Parameters
    ----------
    course : Course
    learn, score : ndarray of int
        Row numbers.
    fitted : dict
        Surrogates that saw none of the scored rows.
    name : str
        Names the random numbers of its forests.
    """

    def __init__(self, course: Course, learn, score, fitted: dict[Any, Source], name: str):
        self.course, self.learn, self.score = course, learn, score
        self.fitted, self.name = fitted, name
        self.table, self.labels = course.table.only(learn), course.target.only(learn)
        self.gradients = Gradients.sampled(
            fitted, self.table.only, self.table.weights, self.labels, course.n_jobs
        )
        self.columns = make_columns(course.X[learn], course.n_jobs)  # all forests share them
        self.scored = np.ascontiguousarray(course.X[score])

    def on_more_rows(self, split: Split, geometries: Sequence[Geometry]) -> Track:
        """Return the same surrogates with other rows, as far as these geometries need them."""
        needed = {source: self.fitted[source] for source in needed_sources(geometries)}
        learn, score = split
        return Track(self.course, learn, score, needed, f"{self.name}, more rows")

    def pilot(self, rules: Rules, *geometries: Geometry) -> Pilot:
        """Return a forest that can grow, shared by these geometries."""
        course, n_learn = self.course, len(self.learn)
        columns = self.table.only(slice(0))
        growth = JacobianGrowth(rules, geometries, course.sizes, self.fitted, columns)
        plan_of = growth.plans_on(self.columns, n_learn, self.gradients)
        rng = stream(course.seed, "pilots", self.name)  # every racer draws the same bootstraps

        def grow(n_trees: int) -> Forest:
            return grow_forest(
                plan_of,
                self.labels,
                self.table.weights,
                tree_seeds(rng, n_trees),
                rules.limits(n_learn),
                n_features=course.X.shape[1],
                n_jobs=course.n_jobs,
            )

        # A bootstrap sample holds 63 % of the rows.
        n_rows = n_learn * (1.0 - np.exp(-1.0) if geometries[0].bootstrap else 1.0)
        target = course.target
        observed = target.indicators(self.score)
        return Pilot(grow, self.scored, observed, n_rows, classifies=target.n_classes > 0)

    def predict(self, rules: Rules, geometries: Sequence[Geometry], n_trees: int) -> Predicted:
        """Predict the scored rows by a fresh forest."""
        forest = self.pilot(rules, *geometries).grow(n_trees)
        means = forest.predict(self.scored, self.course.n_jobs)
        if self.course.target.n_classes:  # sets of classes need no spread
            return self.score, means, np.zeros_like(means)
        return self.score, means, forest.spread(self.scored, self.course.n_jobs)


@dataclass(frozen=True, eq=False)
class Raced:
    """Tracks after a race, with the pilots that ran on them.

    Parameters
    ----------
    tracks : list of Track
    pilots : dict of str to list of Pilot
        The pilots of each geometry, one per track.
    """

    tracks: list[Track]
    pilots: dict[str, list[Pilot]]

    def predict(
        self, rules: Rules, geometries: Sequence[Geometry], n_trees: int, size: int
    ) -> list[Predicted]:
        """Predict held-out rows by forests of these geometries, without new surrogates.

        In folds, the pilots themselves predict the rows that they were scored on. In larger tables
        they are too small a forest: they saw few of the rows. There, new trees learn from all rows
        except those to be predicted, with the gradients of the race's surrogates.

        Parameters
        ----------
        rules : Rules
        geometries : sequence of Geometry
            They share the trees.
        n_trees : int
            Number of trees; at most 40 are used.
        size : int
            The pilots' nodes of fewer rows are leaves.

        Returns
        -------
        list of Predicted
        """
        n_trees = min(n_trees, N_TREES)
        if len(self.tracks) > 1:
            shared = zip(*(self.pilots[geometry.name] for geometry in geometries), strict=True)
            return [
                (track.score, *_answers(pilots, n_trees, size, track.course.n_jobs))
                for track, pilots in zip(self.tracks, shared, strict=True)
            ]
        [track] = self.tracks
        X = track.course.X
        split = with_more_to_learn(X, track.score, scored_rows(len(X)))
        wider = track.on_more_rows(split, geometries)
        return [wider.predict(rules, geometries, n_trees)]


def _answers(
    pilots: Sequence[Pilot], n_trees: int, size: int, n_jobs
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of the trees of pilots that share a forest."""
    share = -(-n_trees // len(pilots))
    for pilot in pilots:
        if pilot.n_trees < share:
            pilot.advance(share - pilot.n_trees, n_jobs)
    values = np.concatenate([pilot.tree_answers(size)[:, :share] for pilot in pilots], axis=1)
    return values.mean(axis=1), values.std(axis=1)
