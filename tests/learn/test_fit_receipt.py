"""The attributes and the receipt of a fit: units, scaling, neighbours."""

from __future__ import annotations

import math

import numpy as np
from learn.small_fits import ledger, logistic, ridge, rows

from hush import Sensitivity
from hush.learn.relation import Relation
from hush.learn.row_count import RowCount


def test_weights_and_noise_can_be_put_into_the_users_units():
    X, y, labels = rows()
    for solver in ("cd", "statistics"):
        model = ridge(epsilon=20.0, solver=solver, bounds=[(-1, 1), (-2, 2), (-3, 3)]).fit(X, y)
        own, height = model.spread_[:3], model.spread_[3]
        last = model.trace_["weights"][-1]
        np.testing.assert_allclose(last[:3] * height / own, model.coef_, rtol=1e-12)
        np.testing.assert_allclose(
            model.centre_[3] + height * last[3] - model.coef_ @ model.centre_[:3], model.intercept_, rtol=1e-9
        )
        assert all("lattice_step" in part and "step" not in part for part in model.receipt_["parts"])
    flat = ridge(scaling="public", winsorise=None, passes=1).fit(np.zeros((4000, 3)), np.zeros(4000))
    deviation = math.sqrt(flat.noise_.variance) * flat.receipt_["clip"][0] / (flat.receipt_["grain"] * 4000)
    assert (
        0.05 * deviation < flat.trace_["noisy_gradient"][0] < 20.0 * deviation
    )  # the length of four: shorter by a chance below 1e-6
    assert logistic(passes=1).fit(X, labels).spread_.shape == (3,)


def test_the_papers_scaling_says_what_it_takes():
    X, y, _ = rows()
    model = ridge(scaling="paper").fit(X, y)
    assert (
        not model.guarantee_.holds
        and "means and spreads" in model.guarantee_.reason
        and "smoothness" not in model.guarantee_.reason
    )


def test_the_bound_of_a_charge_has_replaced_rows():
    X, _, labels = rows(1000)
    paid = ledger()
    logistic(classes="private", epsilon=20.0, passes=1, ledger=paid).fit(X, labels)
    assert {charge.neighbours for charge in paid.entries[0].charges} == {"replace"}
    assert Sensitivity(linf=1.0, l0=1).neighbours == "add-remove"  # what a bare 1.0 would have meant


def test_the_receipt_has_the_charge_of_the_number_of_rows():
    X, y, _ = rows(400)
    receipt = ridge(neighbours="add-remove", passes=1).fit(X, y).receipt_
    assert RowCount.planned(1.0, Relation("add-remove")).mechanism.charge in receipt.charges
