"""Real Opacus: hush in its registry, beside its own accountants, and exact noise in its optimizer."""

from __future__ import annotations

import itertools
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
    hush.torch.register_accountant()


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


def private(**options: Any) -> tuple[Any, Any, Any, Any]:
    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.randn(64, 5), torch.randint(0, 2, (64,)))
    model = torch.nn.Linear(5, 2)
    engine = PrivacyEngine(accountant="hush")
    made = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=torch.utils.data.DataLoader(data, batch_size=16),
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


def test_exact_noise_in_the_optimizer() -> None:
    """With hardly any noise, the gradient of a step is that of Opacus, up to the rounding to the lattice."""
    grads = []
    for exact in (False, True):
        _, model, optimizer, _ = private(noise_multiplier=1e-7, poisson_sampling=False)
        if exact:
            assert hush.torch.exact_noise(optimizer) is optimizer
        torch.manual_seed(5)
        x, y = torch.randn(16, 5) * 3.0, torch.randint(0, 2, (16,))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        grads.append(torch.cat([p.grad.reshape(-1) for p in model.parameters()]))
    assert torch.allclose(grads[0], grads[1], atol=2e-3) and not torch.equal(grads[0], grads[1])


def test_exact_noise_over_virtual_batches_and_whole_runs() -> None:
    engine, model, optimizer, loader = private()
    hush.torch.exact_noise(optimizer)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=5, optimizer=optimizer) as parts:
        train(model, optimizer, parts)
    assert len(engine.accountant) == len(loader) and engine.accountant.history[0][:2] == (1.0, 0.25)
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_gradients_are_not_used_twice() -> None:
    _, model, optimizer, loader = private()
    hush.torch.exact_noise(optimizer)
    x, y = next(iter(loader))
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    with pytest.raises(ValueError, match="zero_grad"):
        optimizer.step()


def test_what_exact_noise_does_not_know_is_refused() -> None:
    for wrong in (None, torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)):
        with pytest.raises(hush.InvalidParameter, match="DPOptimizer"):
            hush.torch.exact_noise(wrong)
    _, model, optimizer, loader = private(noise_multiplier=0.0)
    hush.torch.exact_noise(optimizer)
    with pytest.raises(hush.Unsupported, match="above 0"):
        train(model, optimizer, itertools.islice(loader, 1))
