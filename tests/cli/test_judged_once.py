"""A command loads a form once, reads it once and judges it once; all that it says rests on that one judgement."""

import pytest

from kit import commands
from kit.counting import count_forms
from workbench.config import SURFACES, get, new
from workbench.core.writers import SIMULATED_SURFACES

ONCE = {"loads": 1, "reads": 1, "judgements": 1}


@pytest.fixture
def counted(monkeypatch):
    return count_forms(monkeypatch)


@pytest.fixture
def form(tmp_path):
    """Write a surface's template; give its path."""

    def write(surface):
        path = tmp_path / f"form{get(surface).suffix}"
        path.write_text(new(surface).to_text())
        return path

    return write


@pytest.mark.parametrize("surface", SURFACES)
def test_check_explain_and_code(counted, form, surface):
    for name in ("check", "explain", "code"):
        counted.clear()
        assert commands.status("config", name, form(surface), "--surface", surface) == 0
        assert counted == ONCE, name


@pytest.mark.parametrize("surface", SURFACES)
def test_preview(counted, form, surface):
    arguments = ("--graph", "mlp", "--surface", surface)
    assert commands.status("config", "preview", form(surface), *arguments) == 0
    assert counted == ONCE


@pytest.mark.parametrize("surface", SIMULATED_SURFACES)
def test_simulate(counted, form, surface, tmp_path):
    arguments = ("--graph", "mlp", "--device", "a2", "--out", tmp_path / "out", "--config")
    device = () if surface not in ("mindspore-cpu", "mindspore-gpu") else ("--device", "reference")
    status = commands.status("simulate", *arguments, form(surface), "--surface", surface, *device)
    assert status in (0, 1)
    assert counted == ONCE
    counted.clear()
    # without the option the form itself says whose it is
    again = (*arguments[:-2], tmp_path / "again", "--config", form(surface))
    assert commands.status("simulate", *again) in (0, 1)
    assert counted == ONCE
