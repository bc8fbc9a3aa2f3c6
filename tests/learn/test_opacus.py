"""Real Opacus: hush in its registry, beside its own accountants, and exact noise in its optimizer."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import pytest
from printed import assert_shown, rows

import hush

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'hush[torch]'")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("opacus", reason="Opacus is not installed: pip install 'hush[torch]'")
    from opacus import PrivacyEngine
    from opacus.accountants import IAccountant, create_accountant
    from opacus.accountants.utils import get_noise_multiplier
    from opacus.utils.batch_memory_manager import BatchMemoryManager
    from opacus.validators.errors import UnsupportedModuleError

pytestmark = pytest.mark.filterwarnings("ignore")

#: noise multiplier, rate, steps
SETTINGS = [
    (1.1, 256 / 60_000, 14_063),
    (0.8, 256 / 60_000, 14_063),
    (1.0, 0.01, 1_000),
    (0.6, 0.001, 10_000),
    (2.0, 0.05, 2_000),
    (10.0, 0.5, 1_000),
    (1.0, 1e-4, 100_000),
]


def test_the_table_of_the_page_is_what_the_accountants_give() -> None:
    table = rows("deep_learning.md", "| noise multiplier | rate | steps")
    assert len(table) == len(SETTINGS)
    for cells, setting in zip(table, SETTINGS, strict=True):
        assert (float(cells[0]), int(cells[2].replace(",", ""))) == (setting[0], setting[2])
        assert cells[1] == ("256/60000" if setting[1] == 256 / 60_000 else f"{setting[1]:g}")
        for name, printed in zip(("hush", "prv", "rdp"), cells[3:], strict=True):
            account = create_accountant(name)
            account.history = [setting]
            assert_shown(float(account.get_epsilon(1e-5)), printed)


@pytest.fixture(autouse=True)
def registered() -> None:
    hush.torch.engine(batches=1, divisor=1)


@pytest.mark.parametrize(("sigma", "rate", "steps"), SETTINGS)
def test_epsilon_is_never_above_that_of_opacus(sigma: float, rate: float, steps: int) -> None:
    ours, theirs = create_accountant("hush"), create_accountant("prv")
    ours.history = theirs.history = [(sigma, rate, steps)]
    found, prv = ours.get_epsilon(1e-5), theirs.get_epsilon(1e-5)
    assert isinstance(ours, IAccountant) and found <= prv
    assert found > prv - 0.03, "the bound of Opacus is 0.02 wide at most, so the two agree"


def test_noise_that_changes_is_never_above_that_of_opacus() -> None:
    ours, theirs = create_accountant("hush"), create_accountant("prv")
    ours.history = theirs.history = [(1.0 + place / 10, 0.01, 100) for place in range(10)]
    assert theirs.get_epsilon(1e-5) - 0.03 < ours.get_epsilon(1e-5) <= theirs.get_epsilon(1e-5)


def test_the_noise_for_a_budget_is_less_than_by_opacus() -> None:
    asked: dict[str, Any] = {"target_epsilon": 2.0, "target_delta": 1e-5, "sample_rate": 0.01, "steps": 500}
    ours, theirs = (get_noise_multiplier(**asked, accountant=name) for name in ("hush", "prv"))
    least = hush.noise_multiplier(2.0, 1e-5, 0.01, 500)
    assert least <= ours * (1.0 + 1e-9) and ours < 1.01 * least and ours <= theirs


def private(rows: int = 64, batch: int = 16, engine: Any = None, **options: Any) -> tuple[Any, Any, Any, Any]:
    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.randn(rows, 5), torch.randint(0, 2, (rows,)))
    model = torch.nn.Linear(5, 2)
    engine = engine or hush.torch.engine(batches=4, divisor=16)
    made = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=torch.utils.data.DataLoader(data, batch_size=batch),
        **({"noise_multiplier": 1.0, "max_grad_norm": 1.0} | options),
    )
    return engine, *made


def train(model: Any, optimizer: Any, loader: Any) -> int:
    steps = 0
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


def test_a_training_run_is_counted_and_saved(tmp_path: Any) -> None:
    engine, model, optimizer, loader = private()
    steps = train(model, optimizer, loader)
    assert engine.accountant.history == [(1.0, 0.25, steps)]
    run = hush.subsample(hush.Gaussian(1.0), 0.25, times=steps)
    assert engine.get_epsilon(1e-5) == hush.compose([run]).epsilon(1e-5)
    engine.save_checkpoint(path=tmp_path / "run.pt", module=model)
    again, fresh, _, _ = private()
    again.load_checkpoint(path=tmp_path / "run.pt", module=fresh)
    assert again.accountant.history == engine.accountant.history


def gradients(model: Any, optimizer: Any, x: Any, y: Any) -> Any:
    """The published gradients of one step."""
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    return torch.cat([p.grad.reshape(-1) for p in model.parameters()])


def test_exact_noise_in_the_optimizer() -> None:
    """With hardly any noise, the gradient of a step is that of Opacus, up to the rounding to the lattice."""
    grads = []
    for exact in (False, True):
        engine = hush.torch.engine(batches=4, divisor=16, exact=exact)
        _, model, optimizer, _ = private(engine=engine, noise_multiplier=1e-7)
        torch.manual_seed(5)
        grads.append(gradients(model, optimizer, torch.randn(16, 5) * 3.0, torch.randint(0, 2, (16,))))
    assert torch.allclose(grads[0], grads[1], atol=2e-3) and not torch.equal(grads[0], grads[1])


# -- what one row more or less may not change ------------------------------------------------------------------


def shown(rows: int, engine: Any) -> dict[str, Any]:
    """All that a reader of a training run sees besides the noisy sums: the number of steps, their rate, the divisor,
    and the divisors whose lattice holds the published gradients.
    """
    engine, model, optimizer, loader = private(rows, 50, engine)
    if type(engine) is PrivacyEngine:
        hush.torch.exact_noise(optimizer, divisor=optimizer.expected_batch_size)
    steps = train(model, optimizer, loader)
    numbers = sum(p.numel() for p in model.parameters())
    grads = torch.cat([p.grad.reshape(-1) for p in model.parameters()]).double()
    step = 2.0 ** -(10 + 2)  # of the lattice: clip/root(12) is between 2^-2 and 2^-1
    assert numbers == 12
    places = {d: grads * d / step for d in (48, 49, 50, 51)}
    held = [d for d, place in places.items() if (place - place.round()).abs().max() < 0.02]
    return {"steps": steps, "divisor": optimizer.expected_batch_size, "lattice": held}


def test_999_rows_and_1000_rows_show_the_same() -> None:
    """Opacus' own engine divides by 49 for 999 rows and by 50 for 1,000, and one gradient shows which. At 1,001 rows it
    takes 21 steps in place of 20.
    """
    own = [shown(rows, PrivacyEngine(accountant="rdp")) for rows in (999, 1000, 1001)]
    assert [one["divisor"] for one in own] == [49, 50, 47] and [one["steps"] for one in own] == [20, 20, 21]
    assert own[0]["lattice"] == [49] and own[1]["lattice"] == [50], "the attack tells the rows of Opacus' engine"
    made = [shown(rows, hush.torch.engine(batches=20, divisor=50)) for rows in (999, 1000, 1001)]
    assert made[0] == made[1] == made[2] == {"steps": 20, "divisor": 50.0, "lattice": [50]}


@pytest.mark.parametrize("rows", [999, 1000, 1001])
@pytest.mark.parametrize("exact", [False, True])
def test_the_scale_of_the_noise_does_not_depend_on_the_rows(rows: int, exact: bool) -> None:
    """Sums of no rows are noise alone: clip * sigma / divisor. 2,400 draws: by Laurent and Massart (2000), Lemma 1, the
    mean square of n draws differs from the variance by more than 2 sqrt(x/n) + 2 x/n of it with probability at most
    2 e^-x; x = 15 gives 6e-7, and the bound is 0.17. A divisor of 2/3 or 3/2 of the right one is found.
    """
    engine = hush.torch.engine(batches=20, divisor=50, exact=exact)
    _, model, optimizer, _ = private(rows, 50, engine, max_grad_norm=2.0)
    nothing = torch.zeros(0, 5), torch.zeros(0, dtype=torch.long)
    drawn = torch.cat([gradients(model, optimizer, *nothing) for _ in range(200)]).double()
    assert abs(float((drawn * 50 / 2.0).square().mean()) - 1.0) < 0.17


def test_plain_engines_of_opacus_and_lists_of_rows_get_no_epsilon() -> None:
    with pytest.raises(hush.Unsupported, match="number of rows, which is private"):
        private(engine=PrivacyEngine(accountant="hush"))
    for wrong, words in (
        ({"poisson_sampling": False}, "no epsilon is proved"),
        ({"noise_generator": torch.Generator()}, "noise_generator="),
        ({"clipping": "adaptive"}, "number of rows in the batch"),
    ):
        engine = hush.torch.engine(batches=4, divisor=16)
        with pytest.raises(hush.Unsupported, match=words):
            private(engine=engine, **wrong)
        assert engine.accountant.history == []
    for name, values in (("batches", (0, 1.5, "2")), ("divisor", (0, -1, math.nan, "2"))):
        for value in values:
            with pytest.raises(hush.InvalidParameter, match=name):
                hush.torch.engine(**{"batches": 4, "divisor": 16, name: value})


def test_layers_that_mix_rows_are_refused() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    with pytest.raises(UnsupportedModuleError, match="BatchNorm"):
        hush.torch.engine(batches=4, divisor=16).make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
            data_loader=torch.utils.data.DataLoader(torch.randn(64, 5)),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )


def test_the_noise_for_a_budget_uses_the_public_rate() -> None:
    """The rate for which the noise is chosen is that of the engine, and not 1/len(loader)."""
    found = []
    for size in (999, 1001):
        torch.manual_seed(1)
        data = torch.utils.data.TensorDataset(torch.randn(size, 5), torch.randint(0, 2, (size,)))
        model = torch.nn.Linear(5, 2)
        engine = hush.torch.engine(batches=20, divisor=50)
        _, optimizer, _ = engine.make_private_with_epsilon(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
            data_loader=torch.utils.data.DataLoader(data, batch_size=50),
            target_epsilon=2.0,
            target_delta=1e-5,
            epochs=1,
            max_grad_norm=1.0,
        )
        found.append(optimizer.noise_multiplier)
    least = hush.noise_multiplier(2.0, 1e-5, 1 / 20, 20)
    assert found[0] == found[1] and least <= found[0] * (1.0 + 1e-9) and found[0] < 1.02 * least


def test_exact_noise_over_virtual_batches_and_whole_runs() -> None:
    engine, model, optimizer, loader = private()
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=5, optimizer=optimizer) as parts:
        train(model, optimizer, parts)
    assert len(engine.accountant) == len(loader) and engine.accountant.history[0][:2] == (1.0, 0.25)
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_gradients_are_not_used_twice() -> None:
    _, model, optimizer, loader = private()
    x, y = next(iter(loader))
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    with pytest.raises(ValueError, match="zero_grad"):
        optimizer.step()


def test_what_exact_noise_does_not_know_is_refused() -> None:
    for wrong in (None, torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)):
        with pytest.raises(hush.InvalidParameter, match="DPOptimizer"):
            hush.torch.exact_noise(wrong, divisor=16)
    _, model, optimizer, loader = private(noise_multiplier=0.0)
    for divisor in (0, -16, math.inf, None):
        with pytest.raises(hush.InvalidParameter, match="divisor"):
            hush.torch.exact_noise(optimizer, divisor=divisor)
    with pytest.raises(hush.Unsupported, match="above 0"):
        train(model, optimizer, itertools.islice(loader, 1))
