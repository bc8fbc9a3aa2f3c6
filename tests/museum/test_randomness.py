"""Published bugs in random numbers: biased, repeated, predictable, or drawn in a time that tells."""

from __future__ import annotations

import hashlib
import math
import os
from typing import Any

import numpy as np
import pytest
from museum.rows import people

import hush
import hush.federated as federated
from hush import tables
from hush.sampling.entropy import DeterministicTestEntropy, SecureEntropy

ALARM = 1e-6


def farthest(counts: Any, law: Any) -> float:
    """The largest difference of two distribution functions (Dvoretzky, Kiefer, Wolfowitz, Massart)."""
    return float(np.abs(np.cumsum(counts) / np.sum(counts) - np.cumsum(law)).max())


def test_sampler_with_a_wrong_division() -> None:
    """Coins with probability a/b that were made by a division that loses bits: a biased law."""
    size, ends, scale = 200_000, 60, 3.0
    places = np.arange(-ends, ends + 1)
    law = np.exp(-np.abs(places) / scale)
    law /= law.sum()
    limit = math.sqrt(math.log(2.0 / ALARM) / (2.0 * size))
    biased = np.exp(-np.abs(places) / (scale * 1.05))
    biased /= biased.sum()
    assert farthest(np.random.default_rng().multinomial(size, biased), law) > limit  # a bias of 5 % is seen
    drawn = np.clip(hush.draw(hush.Discrete(hush.Laplace(scale), 1.0), size), -ends, ends)
    assert farthest(np.bincount(drawn + ends, minlength=2 * ends + 1), law) < limit


def test_randomised_response_that_skips_a_bit() -> None:
    def skipping(bits: list[int]) -> list[int]:
        coins = [int(np.random.default_rng().random() < 0.27) for _ in range(1, len(bits))]
        return [*(bit ^ coin for bit, coin in zip(bits, coins, strict=False)), bits[-1]]

    assert {skipping([0, 0, 0, 1])[-1] for _ in range(60)} == {1}  # the last person's bit is sent as it is
    for place in range(4):
        values = [0.0, 0.0, 0.0, 0.0]
        values[place] = 1.0
        sent = {
            repr(np.asarray(federated.local(values, 1.0, low=0, high=1, delta=0.0).values)[place]) for _ in range(60)
        }
        assert len(sent) > 1  # 60 equal reports have probability far below 1e-6


def test_projection_that_lost_its_scale() -> None:
    """A sketch whose precision was computed from another exponent rounded values away. hush has no such sketch."""
    kept = 2.0**3  # the place of the last bit, from the exponent of the wrong number
    assert math.floor(7.0 / kept) * kept == 0.0
    assert not hasattr(hush, "alp") and not hasattr(tables, "alp")
    made = hush.Mechanism.of(hush.calibrate(1.0, 0.0, 1.0, family="laplace"))
    for value in (7.0, 0.1, 1e6 + 0.5, 2.0**-20):
        assert abs(float(np.asarray(made.value_of(made.on_lattice(value))).ravel()[0]) - value) <= made.step / 2.0


def test_one_key_for_several_parts() -> None:
    def same_key(shape: int) -> Any:
        return np.random.default_rng(7).normal(size=shape)

    assert (same_key(5) - same_key(5) == 0.0).all()  # the difference of two parts has no noise
    mechanism = hush.Mechanism(hush.Gaussian(1000.0), hush.Sensitivity(linf=1.0, l0=1), 1.0, coordinates=8)
    payment = hush.unaccounted([mechanism.charge.repeated(2)])
    first, second = (payment.noise(mechanism, np.zeros(8, dtype=np.int64)) for _ in range(2))
    assert (first != second).any()  # 8 equal draws have probability below 1e-20
    bits = SecureEntropy().begin()
    words = [bits.part(number).words(4, np.uint64).tobytes() for number in range(50)]
    assert len(set(words)) == 50


def test_generator_that_can_be_predicted() -> None:
    """The state of a Mersenne twister follows from 624 of its outputs, and so does all later noise."""
    import random

    victim, attacker = random.Random(), random.Random()
    state = []
    for _ in range(624):
        word = victim.getrandbits(32)
        word ^= word >> 18
        word ^= (word << 15) & 0xEFC60000
        for _ in range(7):
            word = (word & 0xFFFFFFFF) ^ 0  # keep 32 bits
        low = word
        for _ in range(4):
            low = word ^ ((low << 7) & 0x9D2C5680)
        high = low
        for _ in range(2):
            high = low ^ (high >> 11)
        state.append(high & 0xFFFFFFFF)
    attacker.setstate((3, (*state, 624), None))
    assert [attacker.random() for _ in range(20)] == [victim.random() for _ in range(20)]
    # hush: no seed, no state; every call has a fresh key of AES from the operating system
    asked: list[int] = []
    real = os.urandom
    try:
        os.urandom = lambda size: asked.append(size) or real(size)  # type: ignore[func-returns-value,assignment]
        for _ in range(5):
            hush.draw(hush.Laplace(2.0), 3)
    finally:
        os.urandom = real
    assert asked == [64] * 5
    for seed in (7, np.random.default_rng(7), "7"):
        with pytest.raises(hush.InvalidParameter, match="there is no seed"):
            hush.draw(hush.Laplace(2.0), 3, entropy=seed)  # type: ignore[arg-type]


def test_noise_that_is_a_function_of_a_salt() -> None:
    def dp_count(values: list[int], epsilon: float, salt: str) -> float:
        share = int.from_bytes(hashlib.sha256(salt.encode()).digest()[:8], "big") / 2.0**64 - 0.5
        return len(values) - math.copysign(math.log(1.0 - 2.0 * abs(share)), share) / epsilon

    with_ada, without = dp_count([1] * 300, 0.1, "pub_2026q4"), dp_count([1] * 299, 0.1, "pub_2026q4")
    assert round(with_ada - without, 9) == 1.0  # the noise cancels: two questions give the exact difference
    table = tables.table(people(300), unit="person")
    plan = table.aggregate(n=tables.count_units()).plan(0.01, 0.0, family="laplace")
    answers = {int(plan.answer(ledger=None).to_arrow()["n"][0].as_py()) for _ in range(12)}
    assert len(answers) > 1  # scale 100: 12 equal draws have probability below 1e-20
    plan_of_one = hush.calibrate(1.0, 0.0, 1.0, family="laplace")
    with pytest.raises(hush.Unsupported, match="subtract the noise"):
        hush.release(300, plan_of_one, ledger=None, entropy=DeterministicTestEntropy(1))


class Counting:
    """Counts the random words that a draw takes."""

    secure = False

    def __init__(self, number: int) -> None:
        self.words, self._source = 0, DeterministicTestEntropy(number)

    def begin(self) -> Any:
        bits, outer = self._source.begin(), self

        class Bits:
            def words(self, count: int, dtype: Any, lanes: int = 1) -> Any:
                outer.words += count * lanes
                return bits.words(count, dtype, lanes)

            def __getattr__(self, name: str) -> Any:
                return getattr(bits, name)

        return Bits()


def test_samplers_whose_work_tells_the_noise() -> None:
    random = np.random.default_rng()

    def geometric(scale: float) -> tuple[int, int]:
        trials = 1
        while random.random() < math.exp(-1.0 / scale):
            trials += 1
        return trials - 1, trials

    size, work = np.array([geometric(10.0) for _ in range(2000)]).T
    assert np.corrcoef(size, work)[0, 1] > 0.999  # who measures the time knows the noise
    for noise in (hush.Discrete(hush.Laplace(10.0), 1.0), hush.Laplace(10.0), hush.Gaussian(10.0)):
        asked = []
        for number in range(300):
            source = Counting(number)
            drawn = int(hush.draw(noise, 1, entropy=source)[0])  # type: ignore[arg-type]
            asked.append((abs(drawn), source.words))
        assert len({size for size, _ in asked}) > 5
        assert len({words for _, words in asked}) == 1  # the same number of random words for every draw
