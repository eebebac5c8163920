import pytest

from jarf.bench import PairedTest
from jarf.bench._findings import Pair, advice, answer


def pair(first, second, gain, p, holm=None):
    test = PairedTest(gain, 0.01, gain - 0.02, gain + 0.02, p)
    return Pair(first, second, test, p if holm is None else holm)


@pytest.mark.parametrize(
    ("p", "holm", "words"),
    [
        (0.001, 0.01, "more than noise"),
        (0.03, 0.2, "perhaps more than noise"),
        (0.3, 0.9, "within noise"),
    ],
)
def test_verdicts(p, holm, words):
    assert pair("A", "B", 0.1, p, holm).verdict == words


def test_the_first_sentence_is_the_answer():
    scores = {"JF": 0.62, "XGB": 0.61, "RF": 0.58}
    pairs = [
        pair("JF", "RF", 0.04, 0.001),
        pair("XGB", "RF", 0.03, 0.01),
        pair("JF", "XGB", 0.01, 0.4),
    ]
    said = answer(list(scores), scores, pairs, "kappa", {"JF": ["axes", "local"]})
    assert said[0] == (
        "On this table the Jacobian forest scores best: Cohen's kappa 0.620, 0.010 better than "
        "tuned XGBoost; the difference is within noise (p = 0.4 after Holm's correction)."
    )
    assert "gains 0.040 over the random forest (95 % interval +0.020 to +0.060)" in said[1]
    assert said[1].endswith(": more than noise.")
    assert "1 of 2 splits, plain axes in the others" in said[2]


def test_a_loss_is_called_a_loss():
    scores = {"mine": 0.9, "RF": 0.8, "JF": 0.7}
    pairs = [
        pair("mine", "RF", 0.1, 0.9),
        pair("mine", "JF", 0.2, 0.9),
        pair("RF", "JF", 0.1, 0.001),
    ]
    said = " ".join(answer(list(scores), scores, pairs, "kappa", {"JF": ["axes", "axes"]}))
    assert "On this table mine scores best" in said
    assert "The lead over the Jacobian forest is within noise." in said
    assert "loses 0.100 against the random forest (95 % interval -0.120 to -0.080)" in said
    assert "plain axes in every split" in said


def test_guessing_is_called_guessing():
    for best, guesses in ((0.3, False), (-0.02, True)):
        scores = {"RF": best, "JF": best - 0.1}
        said = answer(["RF", "JF"], scores, [pair("RF", "JF", 0.1, 0.9)], "r2", {})
        assert ("than guessing" in said[-1]) == guesses


def test_one_method_has_no_rival():
    assert answer(["RF"], {"RF": 0.5}, [], "r2", {})[0].endswith("nothing to compare it with.")


def test_the_advice_names_a_method_its_equals_and_the_faster_one():
    scores = {"JF": 0.62, "XGB": 0.61, "RF": 0.6}
    pairs = [pair("JF", "RF", 0.02, 0.4), pair("JF", "XGB", 0.01, 0.4)]
    said = advice(list(scores), scores, pairs, "kappa", {"JF": 2.0, "XGB": 1.0, "RF": 0.5})
    assert said == [
        "Use the Jacobian forest (JF).",
        "The lead over tuned XGBoost and the random forest is within noise: each of them may be "
        "equally good on new rows.",
        "If the time of a fit matters, the random forest needs 25 % of the time, tuning included.",
    ]
    clear = [pair("JF", "RF", 0.02, 0.001), pair("JF", "XGB", 0.01, 0.001)]
    assert advice(list(scores), scores, clear, "kappa", {"JF": 2.0, "RF": 0.5}) == said[:1]
    nothing = advice(["RF"], {"RF": 0.0}, [], "kappa", {})
    assert nothing[0].startswith("Do not choose a model yet")


def test_a_lead_that_rounds_to_nothing_is_called_small():
    scores = {"JF": 0.9, "RF": 0.8999}
    said = answer(list(scores), scores, [pair("JF", "RF", 0.0001, 0.9)], "r2", {})
    assert "less than 0.001 better than the random forest" in said[0]
    assert "gains less than 0.001 over" in said[1]


def test_a_tie_is_called_a_tie():
    scores = {"RF": 1.0, "JF": 1.0}
    said = answer(list(scores), scores, [pair("RF", "JF", 0.0, 1.0)], "kappa", {})
    assert said == [
        "On this table the random forest and the Jacobian forest score equally well: Cohen's "
        "kappa 1.000.",
        "The Jacobian forest scores the same as the random forest.",
    ]
    said = advice(list(scores), scores, [pair("RF", "JF", 0.0, 1.0)], "kappa", {})
    assert said == ["Use the random forest (RF).", "It scores the same as the Jacobian forest."]


def test_boosting_is_compared_with_the_best_other_booster():
    scores = {"CatBoost": 0.7, "JB": 0.69, "XGB": 0.6, "RF": 0.5}
    pairs = [
        pair("CatBoost", "JB", 0.01, 0.4),
        pair("CatBoost", "XGB", 0.1, 0.01),
        pair("CatBoost", "RF", 0.2, 0.01),
        pair("JB", "XGB", 0.09, 0.001),
        pair("JB", "RF", 0.19, 0.001),
    ]
    said = answer(list(scores), scores, pairs, "kappa", {"JB": ["mixed", "mixed"]})
    assert said[1:] == [
        "Jacobian boosting loses 0.010 against CatBoost (95 % interval -0.030 to +0.010): within "
        "noise.",
        "Its race chose rotated or weighted cuts in 2 of 2 splits.",
    ]


def test_only_methods_that_were_run_are_named():
    scores = {"JB": 0.7, "RF": 0.6}
    said = answer(list(scores), scores, [pair("JB", "RF", 0.1, 0.01)], "r2", {"JB": ["axes"]})
    assert said[1:] == [
        "The race of Jacobian boosting chose plain axes in every split: rotated cuts did not help.",
    ]
    assert advice(list(scores), scores, [], "r2", {}) == ["Use Jacobian boosting (JB)."]
