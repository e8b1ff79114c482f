"""A command loads a form once, reads it once and judges it once; all that it says rests on that one judgement."""

from collections import Counter

import pytest

from kit import commands
from workbench.config import SURFACES, config, files, get, new
from workbench.config.form.reader import Reader
from workbench.core.writers import SIMULATED_SURFACES

ONCE = {"loads": 1, "reads": 1, "judgements": 1}


@pytest.fixture
def counted(monkeypatch):
    """How often files are loaded, and forms read and judged."""
    counts = Counter()

    def count(home, name, what, whole=lambda *arguments: True):
        inner = getattr(home, name)

        def outer(*arguments, **named):
            counts[what] += bool(whole(*arguments))
            return inner(*arguments, **named)

        monkeypatch.setattr(home, name, outer)

    count(Reader, "read", "reads", lambda _self, _model, _value, path="": not path)
    count(config, "judge", "judgements")
    count(files, "load", "loads")
    return counts


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
    assert commands.status(
        "simulate", *arguments[:-2], tmp_path / "again", "--config", form(surface)
    ) in (0, 1)
    assert counted == ONCE
