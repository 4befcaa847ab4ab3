"""Commands that are imported when they are asked for: `tenuto ps` does not wait for the laboratory's kernels."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup


@dataclass(frozen=True, slots=True)
class Later:
    """Where a command stands: a function, or a Typer application with commands below it."""

    module: str
    attribute: str
    epilog: str = ""
    """The name of a text in that module which ends the command's help."""
    summary: str = ""
    """The first sentence of its help, so that a list of all commands needs no import."""
    kind: str = ""
    """The name of a class in that module that parses the arguments in its own way."""
    hidden: bool = False
    """Another name for a command, for those who are used to it."""

    def load(self, name: str) -> Any:
        """Import the module and make the command."""
        module = import_module(self.module)
        found = getattr(module, self.attribute)
        if isinstance(found, typer.Typer):
            found.info.name = name
            return typer.main.get_group(found)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        settings: dict[str, Any] = {"cls": getattr(module, self.kind)} if self.kind else {}
        epilog = getattr(module, self.epilog) if self.epilog else None
        alone.command(name, epilog=epilog, hidden=self.hidden, **settings)(found)
        return typer.main.get_command(alone)


class Commands(dict[str, Any]):
    """The commands by name, each loaded when it is looked at."""

    def __getitem__(self, name: str) -> Any:
        command = super().__getitem__(name)
        if isinstance(command, Later):
            command = self[name] = command.load(name)
        return command

    def get(self, name: str, default: Any = None) -> Any:
        """The command of that name, if there is one."""
        return self[name] if name in self else default  # noqa: SIM401  this is what `get` is made of

    def values(self) -> Any:
        """All commands."""
        return [self[name] for name in self]

    def items(self) -> Any:
        """All names with their commands."""
        return [(name, self[name]) for name in self]


def group_of(later: dict[str, Later]) -> type[TyperGroup]:
    """A group whose commands come later, in this order."""

    class LazyGroup(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = Commands({**later, **self.commands})

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  as click calls it
            return list(self.commands)

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  as click calls it
            with formatter.section("Commands"):
                formatter.write_dl([(name, one.summary) for name, one in later.items() if not one.hidden])

    return LazyGroup
