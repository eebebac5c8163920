"""Stand-ins for estimators: what scorers of scikit-learn ask while a booster grows."""

from __future__ import annotations

import numpy as np

from jarf._sklearn import BaseEstimator, ClassifierMixin, RegressorMixin


class Answers(RegressorMixin, BaseEstimator):
    """A stand-in for an estimator: scorers ask it for answers by the number of the row."""

    def __init__(self, answers: np.ndarray):
        self.answers = answers

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return self.answers[rows]

    def __sklearn_is_fitted__(self) -> bool:
        return True


class ClassAnswers(ClassifierMixin, Answers):
    """The same for probabilities."""

    def __init__(self, classes: np.ndarray, answers: np.ndarray):
        super().__init__(answers)
        self.classes_ = classes

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        return self.answers[rows]

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return self.classes_[self.answers[rows].argmax(axis=1)]
