"""Every word of the explorer has its Chinese, and none is left over."""

import re

from kit.build.sample_results import network_result
from workbench.compare.metrics import METRICS
from workbench.show.assets import explorer_module
from workbench.show.explorer_words import EXPLORER
from workbench.show.labels import CHINESE, translate
from workbench.show.payload import explorer_data

TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def test_every_word_that_the_module_says_is_in_the_table():
    said = set(re.findall(r'\bsay\("([^"]+)"', explorer_module()))
    assert len(said) > 40
    assert said <= EXPLORER.keys()


def test_every_word_of_the_table_stands_in_the_module_or_is_a_heading():
    headings = {column["heading"] for column in explorer_data(network_result(60, 2))["columns"]}
    texts = set(TEXT.findall(explorer_module()))
    optional = {"Rank", "Graph", "Turn", "output", "input"}  # of dumps that have several
    optional |= {"Own error"}  # of dumps whose operators can be computed again
    assert EXPLORER.keys() <= texts | headings | optional


def test_headings_but_those_of_metrics_are_translated():
    headings = {column["heading"] for column in explorer_data(network_result(60, 2))["columns"]}
    assert headings - EXPLORER.keys() - METRICS.keys() <= {"#"}


def test_places_for_values_are_kept():
    places = {
        text: (set(re.findall(r"\{\w+\}", text)), set(re.findall(r"\{\w+\}", chinese)))
        for text, chinese in EXPLORER.items()
    }
    assert {text: found for text, found in places.items() if found[0] != found[1]} == {}


def test_the_words_are_those_of_the_whole_workbench():
    assert {text: translate(text, "zh") for text in EXPLORER} == {
        text: CHINESE[text] for text in EXPLORER
    }


def test_words_are_sent_in_chinese_alone():
    result = network_result(20, 1)
    assert explorer_data(result)["words"] == {}
    assert explorer_data(result, language="zh")["words"] == EXPLORER
