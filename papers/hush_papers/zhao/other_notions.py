"""Zhao, Section VII: amounts of noise through other notions of privacy."""

from __future__ import annotations

import math

import numpy as np

from hush.privacy.conversion import mcdp_to_pdp, rdp_to_epsilon_mironov, tcdp_to_epsilon, zcdp_to_epsilon
from hush_papers.item import Comparison, Context, Figure, Grid, Item, Series, claim
from hush_papers.zhao.amounts import GRID, amount

__all__ = ["section7"]

_SIGMA = "hush.gaussian.sigma"


def section7(context: Context) -> Item:
    """Section VII: amounts through mCDP, zCDP, RDP and tCDP."""
    compared = _section7_rows()
    names = {
        "mechanism1": "Mechanism 1",
        "mechanism4": "Mechanism 4",
        "zcdp": "zCDP, and RDP by Mironov's conversion",
        "mcdp": "mCDP",
        "cks": "RDP by the sharper conversion",
        "pdp_optimal": "pDP-OPT",
    }
    picture = _section7_figure(names, quick=context.quick)
    rows = tuple((e, *(float(amount(m, e, 1e-5)) for m in ("optimal", *names))) for e in (0.1, 1.0, 5.0, 10.0))
    grid = Grid("Amounts at delta = 1e-5, sensitivity 1", ("epsilon", "DP-OPT", *names.values()), rows)
    text = (
        "Going through zCDP, RDP with Mironov's conversion or tCDP gives the same amount, larger than the largest of "
        "the paper's mechanisms: confirmed. mCDP does not give the pDP optimum, as stated, but more noise. RDP with "
        "a conversion published later needs less than Mechanism 1 for small epsilon. None needs less than the "
        "optimum, which is exact."
    )
    return Item(
        "zhao-section7",
        "Section VII",
        "Through concentrated and Rényi privacy",
        text,
        tuple(compared),
        (picture,),
        (grid,),
    )


def _section7_rows() -> list[Comparison]:
    epsilon, delta = GRID
    over = float(np.min(amount("zcdp", epsilon, delta) / amount("mechanism4", epsilon, delta)))
    compared = [
        claim(
            "zCDP amount over Mechanism 4, least on the grid", '"even worse"', over, holds=over > 1.0, function=_SIGMA
        ),
        *_round_trips(),
    ]
    ratio = float(amount("mcdp", 1.0, 1e-5) / amount("pdp_optimal", 1.0, 1e-5))
    why = (
        "the tail bounds of Lemma 7 are not tight for the Gaussian: they give sqrt(ln((1 + e^-eps)/delta)) in place "
        "of the root"
    )
    compared.append(
        claim(
            "mCDP amount over pDP-OPT at (1, 1e-05)",
            '"gives sigma as sigma pDP-OPT"',
            ratio,
            holds=abs(ratio - 1.0) < 1e-9,
            function=_SIGMA,
            why=why,
        )
    )
    points = [(e, 1e-5) for e in (0.1, 1.0, 5.0)]
    sharper = ", ".join(f"{float(amount('cks', *at) / amount('mechanism1', *at)):.3f} at {at[0]:g}" for at in points)
    later = (
        "The authors say that the comparison may be different if the conversion can be improved. With the conversion "
        f"of Canonne, Kamath and Steinke (2020) the ratio is {sharper}."
    )
    for method, name, why in (("mcdp", "mCDP", ""), ("zcdp", "RDP (Mironov's conversion)", later)):
        worse = min(float(amount(method, *at) / amount("mechanism1", *at)) for at in points)
        what = f"{name} amount over Mechanism 1, delta = 1e-05, least of epsilon = 0.1, 1, 5"
        said = '"cannot give Gaussian mechanisms better than"'
        compared.append(claim(what, said, worse, holds=worse > 1.0, function=_SIGMA, why=why))
    return compared


def _section7_figure(names: dict[str, str], *, quick: bool) -> Figure:
    across = np.geomspace(0.05, 20.0, 25 if quick else 61)
    least = amount("optimal", across, 1e-5)
    lines = [Series(label, across.tolist(), (amount(m, across, 1e-5) / least).tolist()) for m, label in names.items()]
    seen = (
        "Six falling lines above 1. The sharper RDP line is lowest for small epsilon and crosses Mechanism 1 at "
        "epsilon near 2; pDP-OPT, Mechanism 4, zCDP and mCDP follow from below to above, the last two together from "
        "epsilon 3 on."
    )
    return Figure(
        "zhao-section7",
        "Amounts through other notions, delta = 1e-5",
        "epsilon",
        "sigma / sigma of DP-OPT",
        tuple(lines),
        seen,
        log_x=True,
    )


def _round_trips() -> list[Comparison]:
    """Each printed amount put into the conversion from which it was derived, at (1, 1e-5)."""
    epsilon, delta = 1.0, 1e-5
    rho = 1.0 / (2.0 * float(amount("zcdp", epsilon, delta)) ** 2)
    order = 1.0 + math.sqrt(-math.log(delta) / rho)
    sigma = float(amount("mcdp", epsilon, delta))
    where = "hush.privacy.conversion"
    found = (
        (
            "epsilon that zCDP gives back for its amount at (1, 1e-5)",
            epsilon,
            zcdp_to_epsilon(rho, delta),
            "zcdp_to_epsilon",
        ),
        (
            "epsilon that RDP at its best order gives back for that amount",
            epsilon,
            rdp_to_epsilon_mironov(order, rho * order, delta),
            "rdp_to_epsilon_mironov",
        ),
        (
            "epsilon that tCDP of a large order gives back for that amount",
            epsilon,
            tcdp_to_epsilon(rho, 1e6, delta),
            "tcdp_to_epsilon",
        ),
        (
            "delta that Lemma 7 gives back for the mCDP amount at (1, 1e-5)",
            delta,
            mcdp_to_pdp(0.5 / sigma**2, 1.0 / sigma, epsilon),
            "mcdp_to_pdp",
        ),
    )
    return [
        claim(what, f"{target:g}", ours, holds=abs(ours / target - 1.0) < 1e-9, function=f"{where}.{name}")
        for what, target, ours, name in found
    ]
