"""Charts, citations and statements of what hush computed and released.

statements: subject.py (statement: which kind), ledger_statement.py, receipt_statement.py, wording.py (an epsilon and
delta in words),
            proof.py (which theorem), caution.py (assumptions), check.py (Python lines that recompute a claim),
            page.py (Statement), snapshot.py (a ledger read without touching it)
charts:     privacy_charts.py, noise_charts.py, release_charts.py, chart_style.py, chart_file.py, chart_subject.py
citations:  citation.py
"""

from hush.report.chart_file import save_chart
from hush.report.noise_charts import density_chart, ranking_chart
from hush.report.page import Statement
from hush.report.privacy_charts import curve_chart, tradeoff_chart
from hush.report.release_charts import ledger_chart, release_chart
from hush.report.subject import statement

__all__ = [
    "Statement",
    "curve_chart",
    "density_chart",
    "ledger_chart",
    "ranking_chart",
    "release_chart",
    "save_chart",
    "statement",
    "tradeoff_chart",
]
