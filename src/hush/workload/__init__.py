"""Workloads: many linear questions about one histogram, answered with the least noise for all of them together."""

from hush.workload.box_answer import BoxesAnswer
from hush.workload.boxes import Boxes
from hush.workload.line import Prefixes, Quantiles, Ranges
from hush.workload.line_answer import LineAnswer
from hush.workload.marginals import Marginals
from hush.workload.plan import WorkloadPlan
from hush.workload.questions import Questions
from hush.workload.strategy import Strategy
from hush.workload.synthetic.data import SyntheticReport, SyntheticRows, TableFit
from hush.workload.table_answer import MarginalsAnswer
from hush.workload.tree import Tree
from hush.workload.tree_answer import TreeAnswer

__all__ = [
    "Boxes",
    "BoxesAnswer",
    "LineAnswer",
    "Marginals",
    "MarginalsAnswer",
    "Prefixes",
    "Quantiles",
    "Questions",
    "Ranges",
    "Strategy",
    "SyntheticReport",
    "SyntheticRows",
    "TableFit",
    "Tree",
    "TreeAnswer",
    "WorkloadPlan",
]
