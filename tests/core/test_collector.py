"""The search for garbage is put off, and goes on as before."""

from __future__ import annotations

import gc

import pytest

from workbench.core.collector import collection_paused


def fails() -> None:
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            pass
        assert not gc.isenabled()  # whoever paused it first starts it again
        raise KeyError


def test_it_is_off_inside_and_on_again_whatever_happens():
    assert gc.isenabled()
    with pytest.raises(KeyError):
        fails()
    assert gc.isenabled()
