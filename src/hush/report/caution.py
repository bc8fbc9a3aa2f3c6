"""On what a promise rests, and what it does not speak of."""

from __future__ import annotations

__all__ = ["ADAPTIVE", "COMPOSED", "NOT_COVERED", "neighbours"]

_NEIGHBOURS = {
    "add-remove": "Neighbours: two data sets of which one has one {unit} more. The promise is for every such pair.",
    "replace": "Neighbours: two data sets of the same size that differ in one {unit}'s record, whatever it is; the size is public.",
}

#: How a ledger adds up, by its rule.
COMPOSED = {
    "nonadaptive": (
        "All mechanisms are composed by their privacy loss distributions, as certified upper bounds; the failure probabilities of "
        "thresholds are added to delta."
    ),
    "adaptive": (
        "The Renyi divergences of one order, fixed when the ledger was made, add up to at most a budget from which the promise follows "
        "(Feldman and Zrnic 2021; Lecuyer 2021). The promise is the whole budget's, however much of it is spent: how much that is may "
        "itself depend on answers."
    ),
    "pure": "Pure epsilons add up (Dwork, McSherry, Nissim and Smith 2006; adaptively, Rogers, Roth, Ullman and Vadhan 2016).",
}
ADAPTIVE = {
    "nonadaptive": (
        "Adaptivity: noise, sensitivity and number of releases were fixed before the first answer was seen. Which questions went through "
        "them may have depended on earlier answers (Zhu, Dong and Wang 2022). The ledger cannot see whether this was kept."
    ),
    "adaptive": "Adaptivity: every mechanism may have been chosen after seeing all earlier answers.",
    "pure": "Adaptivity: every mechanism may have been chosen after seeing all earlier answers.",
    "one": "Adaptivity: the noise follows from the question, its bounds and the budget, not from the data.",
}
NOT_COVERED = (
    "Other releases: what was published about the same people without being charged here, or from another ledger, comes on top.",
    "Several people at once: of k units who belong together (a family, copies of one record) the promise has k times the epsilon, and a "
    "larger delta.",
    "What is true of everybody: that answers tell something about people like you does not depend on your being in the data.",
    "Accuracy: clipping to declared bounds and leaving out rows beyond the declared contribution bias the answers; no noise shows that.",
    "Side channels: running time, memory, logs and the machine itself; the random numbers are those of the operating system.",
    "Declared facts: bounds, keys and units that were declared must not come from the data. A sensitivity that was given by hand is the "
    "word of whoever gave it.",
)


def neighbours(relation: str, unit: str = "unit") -> str:
    """Whom the promise protects."""
    return _NEIGHBOURS[relation].format(unit=unit)
