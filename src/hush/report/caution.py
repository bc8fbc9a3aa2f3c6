"""The assumptions of a guarantee, what it does not cover, and a glossary."""

from __future__ import annotations

__all__ = [
    "ADAPTIVE",
    "AGAINST",
    "COMPOSED",
    "GLOSSARY",
    "LEFT_OUT",
    "NOT_COVERED",
    "NUMBERS",
    "WORST",
    "blocks",
    "compared",
    "protected",
]

#: The data sets that the guarantee compares, for each neighbouring relation.
_COMPARED = {
    "add-remove": "The guarantee compares the data with and without any one person.",
    "replace": (
        "The guarantee compares data of the same size that differ in the record of one person; the size is public."
    ),
}

#: The attacker.
AGAINST = (
    "an attacker who sees everything that was published and knows the data of everybody else. The attacker wants to "
    "find out whether a person is in the data, or what the person's data are."
)

#: What the main number means.
WORST = (
    "This is a bound for the worst case: the attacker knows the data of everybody else, and at first both answers are "
    "equally likely. For an attacker who knows less it holds too."
)

#: How the table of mechanisms counts numbers.
NUMBERS = (
    "Numbers that one person changes in a table: the groups that a person may contribute to, times the numbers behind "
    "the answers of one group. A mean needs two, a sum and a count, and groups that are found privately need a count "
    "of people. Each number is divided by its bound."
)

#: What limits do to the answers.
LEFT_OUT = (
    "One person must change an answer by a limited amount only. Therefore values outside their range were moved to its "
    "ends or left out, and so were rows and groups of a person beyond the limits. The table above states range and "
    "limits of each answer, where they were recorded. How many values and rows this concerned is measured with noise "
    "for each answer about a table; the statement of that answer shows it. The limits make answers less exact. They do "
    "not weaken the protection."
)

#: How a ledger adds up charges, for each of its rules.
COMPOSED = {
    "nonadaptive": (
        "All mechanisms are composed by their privacy loss distributions, as certified upper bounds. The failure "
        "probabilities of thresholds are added to delta."
    ),
    "adaptive": (
        "The Renyi divergences of one order, which was fixed when the ledger was made, add up to at most a limit from "
        "which the guarantee follows (Feldman and Zrnic 2021; Lecuyer 2021). The guarantee is for the whole budget, "
        "because the amount that is spent may depend on earlier answers."
    ),
    "filters": (
        "Several rules share delta, and at least one of them holds for everything that was published: mu^2 of Gaussian "
        "noise adds up (Smith and Thakurta 2022), releases equal to the first one are composed, Renyi divergences of "
        "one order add up (Feldman and Zrnic 2021; Lecuyer 2021), or epsilons and deltas add up "
        "(Rogers, Roth, Ullman and Vadhan 2016). The guarantee is for the whole budget, because the amount that is "
        "spent may depend on earlier answers."
    ),
    "listed": (
        "The releases were listed when the ledger was made, and the mechanisms of the whole list are composed by their "
        "privacy loss distributions. The ledger accepts listed releases only, each once. So this composition covers "
        "every order and every choice among them."
    ),
    "rho": "The rho of every release adds up (Bun and Steinke 2016; adaptively, Feldman and Zrnic 2021; Lecuyer 2021).",
    "mu": "mu^2 of every release adds up (Dong, Roth and Su 2022; adaptively, Smith and Thakurta 2022).",
    "pure": (
        "Pure epsilons add up (Dwork, McSherry, Nissim and Smith 2006; adaptively, Rogers, Roth, Ullman and Vadhan "
        "2016)."
    ),
}
ADAPTIVE = {
    "nonadaptive": (
        "Order: noise, sensitivity and number of releases were fixed before the first answer was seen. The questions "
        "may have depended on earlier answers (Zhu, Dong and Wang 2022). The ledger cannot check this assumption."
    ),
    "listed": (
        "Order: noise and sensitivity of every release were listed when the ledger was made. Answers may have decided "
        "which of them was made next."
    ),
    **dict.fromkeys(
        ("adaptive", "filters", "rho", "mu", "pure"),
        "Order: every mechanism may have been chosen after all earlier answers were seen.",
    ),
    "one": "Order: the noise depends on the question, its bounds and the budget, not on the data.",
}
NOT_COVERED = (
    "Other releases: anything that was published about the same people without a charge to this ledger, or with a "
    "charge to another ledger, adds to the privacy loss.",
    "Groups of people: for k people together (a family, copies of one record), epsilon is k times as large, and delta "
    "is larger too.",
    "General facts: answers can show something about people like you, whether or not you are in the data.",
    "Accuracy: what the limits left out makes answers too small or too large. Noise intervals do not show this error.",
    "Side channels: running time, memory, logs and the machine itself. The random numbers come from the "
    "operating system.",
    "Declared facts: bounds, keys and sensitivities that a user declared must not come from the data. hush does not "
    "check a sensitivity that was given as a number.",
)
GLOSSARY = (
    (
        "epsilon",
        "the privacy loss: 0 means that the answers reveal nothing about any one person; larger values mean less "
        "protection.",
    ),
    (
        "delta",
        "a small extra probability on top of the bound by epsilon. In the worst case, everything about a person "
        "becomes known with this probability. It should be far below 1 divided by the number of people.",
    ),
    (
        "person",
        "the one whom the guarantee protects: one value of the person column of a table, one row of a training set, or "
        "one client of a federation.",
    ),
    (
        "noise",
        "random numbers that are added to every published number, so that no person's contribution can be recognised.",
    ),
    ("sensitivity", "the largest change of the numbers by one person, before the noise is added."),
    ("mechanism", "a noise together with a sensitivity."),
    (
        "ledger",
        "a file that adds up the privacy loss of all releases about the same people, and refuses more than its budget.",
    ),
    ("noise interval", "a range that contains the number before the noise with the stated probability."),
    ("pure", "with delta = 0: the bound by epsilon holds without any extra probability."),
    ("composition", "the computation of the privacy loss of several releases together."),
    ("charge", "what a release costs: its noise, its sensitivity, and how often it is repeated."),
    ("failure probability", "a part of delta that a release uses beside its noise, such as for a threshold."),
    ("threshold", "the smallest noisy number of people with which a group is shown, if groups are found privately."),
    ("clipping", "replacing a value outside its declared bounds by the nearest bound."),
    ("lattice", "the multiples of a step; noise and answers are whole numbers of this step."),
)


def blocks(column: str) -> str:
    """What blocks of time protect, and what they do not."""
    return (
        f"Blocks: the budget is for each value of {column}, because a unit is a person within one value of {column}. "
        "What a person did within one of them is protected. A person over several of them is not: the epsilons add up."
    )


def compared(relation: str) -> str:
    """The assumption about the data sets that the guarantee compares."""
    return f"Comparison: {_COMPARED[relation]}"


def protected(relation: str, who: str = "") -> str:
    """Who is protected, in one sentence; `who` describes what belongs to one person."""
    return f"each person{who}. {_COMPARED[relation]}"
