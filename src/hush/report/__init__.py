"""Charts, citations and privacy statements of what hush computed and released.

statements: subject.py (statement: chooses the kind), ledger_statement.py, receipt_statement.py, receipt_case.py
            (receipts in words), receipt_check.py (receipts against their claims), wording.py (a guarantee in three
            numbers), caution.py (assumptions, glossary), mechanisms.py and proof.py (noises and theorems), check.py
            (Python lines that recompute a claim), page.py (Statement), snapshot.py (reads a ledger without touching
            it), registry_card.py (the card for the registry of deployments)
charts:     privacy_charts.py, noise_charts.py, release_charts.py, ledger_charts.py, limits_charts.py, chart_file.py,
            chart_style.py, chart_subject.py
pages:      render.py and templates/ (HTML, one style sheet)
citations:  citation.py (the papers are in noise/references.bib)
"""

from hush.report.chart_file import save_chart
from hush.report.ledger_charts import ledger_chart
from hush.report.limits_charts import limits_chart
from hush.report.noise_charts import density_chart, ranking_chart
from hush.report.page import Statement
from hush.report.privacy_charts import curve_chart, tradeoff_chart
from hush.report.registry_card import card
from hush.report.release_charts import release_chart
from hush.report.subject import statement

__all__ = [
    "Statement",
    "card",
    "curve_chart",
    "density_chart",
    "ledger_chart",
    "limits_chart",
    "ranking_chart",
    "release_chart",
    "save_chart",
    "statement",
    "tradeoff_chart",
]
