from workbench.config.mindspore_form import Common, E2e
from workbench.config.setting import read_section


def _read(value, model=Common, form=None):
    section, problems = read_section(model, "s", value, form or {"s": value}, "the source")
    return section, {(p.path, p.id, p.severity) for p in problems}


def test_a_wrong_value_is_one_problem_and_the_field_keeps_its_default():
    section, problems = _read({"sample_mode": 7, "enable": 1}, E2e)
    assert problems == {("s.sample_mode", "value", "error"), ("s.enable", "value", "error")}
    assert (section.sample_mode, section.enable) == (0, False)


def test_messages_come_from_the_declaration():
    _, problems = read_section(E2e, "s", {"sample_mode": 7}, {}, "the source")
    assert str(problems[0]) == "s.sample_mode must be 0 or 1, got 7"
    assert problems[0].source == "the source"


def test_a_misspelt_key_names_its_neighbour():
    _, problems = read_section(E2e, "s", {"sample_mod": 1}, {}, "x")
    assert str(problems[0]) == (
        "s.sample_mod must be a known key, got 'sample_mod', which is ignored; "
        "did you mean 'sample_mode'?"
    )


def test_numbers_are_unsigned_integers_and_nothing_else():
    for value in (-1, 1.0, "1", True, None, [1]):
        _, problems = _read({"sample_mode": value}, E2e)
        assert problems == {("s.sample_mode", "value", "error")}, value


def test_unknown_keys_survive_and_unset_ones_stay_away():
    section, _ = _read({"enable": True, "mine": {"a": [1]}}, E2e)
    assert section.to_form({}) == {"enable": True, "mine": {"a": [1]}}


def test_every_field_is_declared():
    for model in (Common, E2e):
        assert list(model.settings()) == list(model.model_fields)
