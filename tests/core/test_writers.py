"""Rows of `WRITERS`: one for every surface, of folders and messages that exist; and what is told apart by them."""

import pytest

import workbench as wb
from kit.words import misconfigured
from workbench.config import SURFACES
from workbench.core.words import Message
from workbench.core.writers import COMPILED_SURFACES, SIMULATED_SURFACES, WRITERS
from workbench.dump.layouts import LAYOUTS
from workbench.dump.reader import load
from workbench.session.redump import infer_surface


def test_every_surface_has_its_row():
    assert WRITERS.keys() == SURFACES.keys()
    assert all(name == row.surface for name, row in WRITERS.items())


@pytest.mark.parametrize("row", WRITERS.values(), ids=list(WRITERS))
def test_a_row_names_what_exists(row):
    assert row.layout in {one.name for one in LAYOUTS}
    assert "data" in row.kinds
    for code in filter(None, (row.overflow_note, *row.notes)):
        assert str(Message(code))


def test_a_session_compiles_and_others_run_operators_one_by_one():
    assert {*COMPILED_SURFACES} == {n for n, row in WRITERS.items() if row.program == "session"}
    assert all(bool(row.graph_files) == row.is_compiled for row in WRITERS.values())


@pytest.mark.parametrize("surface", SIMULATED_SURFACES)
def test_a_tree_tells_whose_it_is(tmp_path, surface):
    network = wb.models.load_graph("mlp")
    tree = wb.simulate(network, None, wb.config.new(surface), tmp_path / "t", surface=surface)
    assert infer_surface(load(tree)) == surface


@pytest.mark.parametrize("surface", sorted(WRITERS.keys() - {*SIMULATED_SURFACES}))
def test_calls_of_a_script_are_neither_simulated_nor_foretold(tmp_path, surface):
    network, form = wb.models.load_graph("mlp"), wb.config.new(surface)
    with misconfigured("surface", "simulation/not-simulated", surface=surface):
        wb.simulate(network, None, form, tmp_path / "t", surface=surface)
    foretold = wb.preview(form, network)
    assert foretold.inexact_because == (Message("forecast/late-calls"),)
    assert (foretold.forecast.files, foretold.exact) == ((), False)
    said = [note.code for note in foretold.notes]
    assert said[:3] == ["forecast/call-folders", "config/mp-tree", "config/mp-tensors"]
