"""How commands are declared: click's, with a help text for every argument, and loaded when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from workbench._doors import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping, Sequence

Function = TypeVar("Function", bound="Callable[..., Any]")


class Argument(click.Argument):
    """A positional argument with a help text, which older clicks do not know."""

    def __init__(self, names: Sequence[str], help: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.help = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        extra = f"[default: {self.default}]" if self.default else ""
        extra = "[required]" if self.required else extra
        return self.make_metavar(ctx), f"{self.help}  {extra}".rstrip()


class Command(click.Command):
    """A command whose help lists the arguments before the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            params = [one for one in self.get_params(ctx) if one.param_type_name == kind]
            records = [record for one in params if (record := one.get_help_record(ctx))]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Nothing: `format_options` has listed them; newer clicks have a section of their own."""


class Places(Mapping[str, click.Command]):
    """Commands by name, each imported from its place (``module:name``) when it is asked for."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> click.Command:
        found: click.Command = find(self._places[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Group(click.Group):
    """Commands in the order of their declaration; those at ``places`` are imported when they are called."""

    command_class = Command

    def __init__(
        self, name: str, *, places: Mapping[str, str] | None = None, **settings: Any
    ) -> None:
        # click reads the commands of a group and adds to them only where somebody declares one
        known = cast("MutableMapping[str, click.Command]", Places(places)) if places else None
        super().__init__(name, known, **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def argument(name: str, *, help: str, **settings: Any) -> Callable[[Function], Function]:
    """Declare an argument; with a default it may be left out."""
    return click.argument(name, cls=Argument, help=help, **settings)


def option(
    *names: str, help: str, default: object = None, **settings: Any
) -> Callable[[Function], Function]:
    """Declare an option; its help tells the default where that is more than "nothing"."""
    shown = default not in ("", None) and default is not False
    if default is not None:
        settings["default"] = default
    return click.option(*names, help=help, show_default=shown, **settings)


def repeated(*names: str, help: str, **settings: Any) -> Callable[[Function], Function]:
    """Declare an option that may be given several times; its value is a tuple."""
    return click.option(*names, help=help, multiple=True, **settings)


def flag(*names: str, help: str) -> Callable[[Function], Function]:
    """Declare an option without a value."""
    return click.option(*names, help=help, is_flag=True)
