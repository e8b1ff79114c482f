"""The words of the explorer: all of them are sent in the language of the page, and no other is said."""

import re

import pytest

from kit.build.sample_results import network_result
from workbench.comparison.measure.metrics import METRICS
from workbench.core.words.render import table
from workbench.core.words.translate import LANGUAGES, Say
from workbench.show.assets import explorer_module
from workbench.show.columns import IDENTITY
from workbench.show.payload import explorer_data

TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def test_the_module_says_codes_alone():
    said = set(re.findall(r'\bsay\("([^"]+)"', explorer_module()))
    assert len(said) > 40
    assert said <= {f"explorer/{name}" for name in table("explorer")}


def test_every_word_of_the_table_stands_in_the_module():
    assert {f"explorer/{name}" for name in table("explorer")} <= set(
        TEXT.findall(explorer_module())
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_and_headings_are_sent_in_the_language_of_the_page(language):
    data, say = explorer_data(network_result(60, 2), language=language), Say(language)
    assert data["words"] == {code: say.words(code) for code in data["words"]}
    assert data["words"].keys() == {f"explorer/{name}" for name in table("explorer")}
    headings = {column["key"]: column["heading"] for column in data["columns"]}
    assert headings["error"] == say("show/col-error")
    known = {column.key: say(column.heading) for column in IDENTITY}
    assert {key: known[key] for key in headings if key in known}.items() <= headings.items()
    assert {key for key in headings if headings[key] == key} <= METRICS.keys()


def test_values_in_words_are_plain_names():
    assert all(
        re.fullmatch(r"\w+", name)
        for words in table("explorer").values()
        for name in re.findall(r"\{([^}]*)\}", words)
    )
