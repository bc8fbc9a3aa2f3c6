"""What to cite: BibTeX for the papers that a noise rests on, and for hush itself."""

from __future__ import annotations

from typing import Any

from hush.calibrate import Plan
from hush.errors import InvalidParameter
from hush.mechanism import Mechanism
from hush.noise.catalogue import EVERY, family
from hush.noise.contract import Noise
from hush.noise.discrete import Discrete
from hush.version import __version__

__all__ = ["PAPERS", "RESTS_ON", "Citation", "cite"]

#: Every entry: its kind, then its fields in the order they are printed.
PAPERS: dict[str, tuple[str, dict[str, str]]] = {
    "hush": (
        "misc",
        {
            "author": "{The hush authors}",
            "title": "hush: Differentially Private Answers with the Least Noise that Provable Privacy Allows",
            "year": "2026",
            "note": f"Python library, version {__version__}",
        },
    ),
    "dwork2006": (
        "inproceedings",
        {
            "author": "Dwork, Cynthia and McSherry, Frank and Nissim, Kobbi and Smith, Adam",
            "title": "Calibrating Noise to Sensitivity in Private Data Analysis",
            "booktitle": "Theory of Cryptography (TCC 2006)",
            "series": "Lecture Notes in Computer Science",
            "volume": "3876",
            "pages": "265--284",
            "publisher": "Springer",
            "year": "2006",
        },
    ),
    "balle2018": (
        "inproceedings",
        {
            "author": "Balle, Borja and Wang, Yu-Xiang",
            "title": "Improving the {G}aussian Mechanism for Differential Privacy: Analytical Calibration and Optimal Denoising",
            "booktitle": "Proceedings of the 35th International Conference on Machine Learning",
            "series": "Proceedings of Machine Learning Research",
            "volume": "80",
            "pages": "394--403",
            "year": "2018",
        },
    ),
    "zhao2019": (
        "misc",
        {
            "author": "Zhao, Jun and Wang, Teng and Bai, Tao and Lam, Kwok-Yan and Xu, Zhiying and Shi, Shuyu and Ren, Xuebin "
            "and Yang, Xinyu and Liu, Yang and Yu, Han",
            "title": "Reviewing and Improving the {G}aussian Mechanism for Differential Privacy",
            "year": "2019",
            "eprint": "1911.12060",
            "archiveprefix": "arXiv",
        },
    ),
    "sadeghi2022": (
        "article",
        {
            "author": "Sadeghi, Parastoo and Korki, Mehdi",
            "title": "Offset-Symmetric {G}aussians for Differential Privacy",
            "journal": "IEEE Transactions on Information Forensics and Security",
            "volume": "17",
            "pages": "2394--2409",
            "year": "2022",
            "eprint": "2110.06412",
            "archiveprefix": "arXiv",
        },
    ),
    "muthukrishnan2023": (
        "article",
        {
            "author": "Muthukrishnan, Gokularam and Kalyani, Sheetal",
            "title": "Grafting {L}aplace and {G}aussian Distributions: A New Noise Mechanism for Differential Privacy",
            "journal": "IEEE Transactions on Information Forensics and Security",
            "year": "2023",
            "eprint": "2212.09657",
            "archiveprefix": "arXiv",
        },
    ),
    "zawacki2023": (
        "misc",
        {
            "author": "Zawacki, Christopher C. and Abed, Eyad H.",
            "title": "The Symmetric alpha-Stable Privacy Mechanism",
            "year": "2023",
            "eprint": "2311.17789",
            "archiveprefix": "arXiv",
        },
    ),
    "geng2014": (
        "inproceedings",
        {
            "author": "Geng, Quan and Viswanath, Pramod",
            "title": "The Optimal Mechanism in Differential Privacy",
            "booktitle": "IEEE International Symposium on Information Theory",
            "year": "2014",
            "eprint": "1212.1186",
            "archiveprefix": "arXiv",
        },
    ),
    "geng2016": (
        "article",
        {
            "author": "Geng, Quan and Viswanath, Pramod",
            "title": "The Optimal Noise-Adding Mechanism in Differential Privacy",
            "journal": "IEEE Transactions on Information Theory",
            "volume": "62",
            "number": "2",
            "pages": "925--951",
            "year": "2016",
        },
    ),
    "geng2020": (
        "inproceedings",
        {
            "author": "Geng, Quan and Ding, Wei and Guo, Ruiqi and Kumar, Sanjiv",
            "title": "Tight Analysis of Privacy and Utility Tradeoff in Approximate Differential Privacy",
            "booktitle": "Proceedings of the 23rd International Conference on Artificial Intelligence and Statistics",
            "series": "Proceedings of Machine Learning Research",
            "volume": "108",
            "pages": "89--99",
            "year": "2020",
        },
    ),
    "subbotin1923": (
        "article",
        {
            "author": "Subbotin, M. T.",
            "title": "On the Law of Frequency of Error",
            "journal": "Matematicheskii Sbornik",
            "volume": "31",
            "number": "2",
            "pages": "296--301",
            "year": "1923",
        },
    ),
    "liu2019": (
        "article",
        {
            "author": "Liu, Fang",
            "title": "Generalized {G}aussian Mechanism for Differential Privacy",
            "journal": "IEEE Transactions on Knowledge and Data Engineering",
            "volume": "31",
            "number": "4",
            "pages": "747--756",
            "year": "2019",
            "eprint": "1602.06028",
            "archiveprefix": "arXiv",
        },
    ),
    "canonne2020": (
        "inproceedings",
        {
            "author": "Canonne, Cl{\\'e}ment L. and Kamath, Gautam and Steinke, Thomas",
            "title": "The Discrete {G}aussian for Differential Privacy",
            "booktitle": "Advances in Neural Information Processing Systems",
            "volume": "33",
            "pages": "15676--15688",
            "year": "2020",
            "eprint": "2004.00010",
            "archiveprefix": "arXiv",
        },
    ),
    "agarwal2021": (
        "inproceedings",
        {
            "author": "Agarwal, Naman and Kairouz, Peter and Liu, Ziyu",
            "title": "The {S}kellam Mechanism for Differentially Private Federated Learning",
            "booktitle": "Advances in Neural Information Processing Systems",
            "volume": "34",
            "pages": "5052--5064",
            "year": "2021",
            "eprint": "2110.04995",
            "archiveprefix": "arXiv",
        },
    ),
    "kotz2001": (
        "book",
        {
            "author": "Kotz, Samuel and Kozubowski, Tomasz J. and Podg{\\'o}rski, Krzysztof",
            "title": "The {L}aplace Distribution and Generalizations: A Revisit with Applications to Communications, Economics, "
            "Engineering, and Finance",
            "publisher": 'Birkh{\\"a}user',
            "year": "2001",
        },
    ),
    "goryczka2017": (
        "article",
        {
            "author": "Goryczka, Slawomir and Xiong, Li",
            "title": "A Comprehensive Comparison of Multiparty Secure Additions with Differential Privacy",
            "journal": "IEEE Transactions on Dependable and Secure Computing",
            "volume": "14",
            "number": "5",
            "pages": "463--477",
            "year": "2017",
            "doi": "10.1109/TDSC.2015.2484326",
        },
    ),
}

#: The papers of each family in the catalogue.
RESTS_ON: dict[str, tuple[str, ...]] = {
    "gaussian": ("zhao2019", "balle2018"),
    "laplace": ("dwork2006",),
    "osgt": ("sadeghi2022",),
    "flipped_huber": ("muthukrishnan2023",),
    "stable": ("zawacki2023",),
    "staircase": ("geng2014", "geng2016"),
    "truncated_laplace": ("geng2020",),
    "exponential_power": ("subbotin1923", "liu2019"),
    "asinh": ("hush",),
    "stepped": ("hush",),
    "discrete": ("canonne2020",),
    "skellam": ("agarwal2021",),
    "gamma_difference": ("kotz2001",),
    "polya_difference": ("goryczka2017",),
}


class Citation(str):
    """BibTeX text that also looks like itself at the Python prompt."""

    def __repr__(self) -> str:
        return str(self)


def cite(what: Any = None) -> Citation:
    """BibTeX for what a noise rests on: a noise, its class or family name, a plan or mechanism; hush and every paper if nothing is named.

    >>> print(cite("laplace").splitlines()[0])
    @inproceedings{dwork2006,
    >>> cite(Discrete(family("gaussian").type(2.0))).count("@")
    3
    """
    keys = tuple(PAPERS) if what is None else _keys(what)
    return Citation("\n\n".join(_entry(key) for key in dict.fromkeys(keys)))


def _keys(what: Any) -> tuple[str, ...]:
    if isinstance(what, Plan | Mechanism):
        what = what.noise
    if isinstance(what, str):
        return RESTS_ON[family(what).name]
    kind = what if isinstance(what, type) else type(what)
    row = next((row for row in EVERY if row.type is kind), None)
    if row is None:
        raise InvalidParameter(
            f"cite takes a noise, its class, a family's name or a plan, got {what!r:.60}; write hush.cite('gaussian'), or hush.cite()."
        )
    inner = _keys(what.noise) if isinstance(what, Discrete) and isinstance(what.noise, Noise) else ()
    return (*RESTS_ON[row.name], *inner)


def _entry(key: str) -> str:
    kind, fields = PAPERS[key]
    width = max(map(len, fields))
    lines = [f"  {name.ljust(width)} = {{{text}}}," for name, text in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
