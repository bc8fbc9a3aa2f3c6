"""Pictures, statements and the explorer: what hush knows, for people to look at.

privacy.py   curve, tradeoff                       look.py      colours, fonts, descriptions
shape.py     densities, ranking                    file.py      PNG, SVG and pages that open offline
answer.py    ledger, release                       subject.py   what may be drawn, by name
explorer/    the page behind `hush explore`
"""

from hush.show.answer import ledger, release
from hush.show.file import save
from hush.show.privacy import curve, tradeoff
from hush.show.shape import densities, ranking
from hush.statement import Statement, report

__all__ = ["Statement", "curve", "densities", "ledger", "ranking", "release", "report", "save", "tradeoff"]
