"""What several commands share: kinds of arguments, and names with a line for each in the help."""

import io
import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union

import tyro

OptionalFolder = Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="(optional)")]
Triple = Annotated[tuple[float, float, float], tyro.conf.arg(metavar="X Y Z")]
F = TypeVar("F", bound=Callable[..., None])


class CommandError(Exception):
    """A command could not do all of its work; the message says what failed."""


def scale_of(quick: bool, full: bool) -> str:
    """The scale of a measurement, from its two flags."""
    if quick and full:
        from stiction.basics.checks import InputError

        raise InputError("Give --quick or --full, not both.")
    return "quick" if quick else "full" if full else "usual"


def lines(about: Mapping[str, str]) -> str:
    """Names with what each is about, one a line."""
    width = max(map(len, about))
    return "\n".join(f"  {name:{width}}  {text}" for name, text in about.items())


def explains(about: Mapping[str, str]) -> Callable[[F], F]:
    """Put names, each with its line, into the help of a command, before its arguments."""

    def explained(command: F) -> F:
        text, heading, arguments = cleandoc(command.__doc__ or "").partition("Args:\n")
        command.__doc__ = f"{text.rstrip()}\n{lines(about)}\n\n{heading}{arguments}"
        command.choices = about  # pyright: ignore[reportFunctionMemberAccess]; for the completion of shells
        return command

    return explained


# Slow imports, with a word at the terminal meanwhile: torch alone takes seconds.


def load(module: str) -> Any:
    """Import a module by its full name."""
    from stiction.basics.progress import status

    with status("Loading"):
        return import_module(module)


# All commands together: as a list for help, and as a script with which a shell completes their words.


Commands = Mapping[str, Callable[..., None]]
Shell = Literal["bash", "zsh", "fish"]


def menu(commands: Commands) -> Any:
    """One of the commands, each with the first line of its help, as a type that tyro reads."""
    return _union({name: (command, _first_line(command)) for name, command in commands.items()})


def completion(shell: Shell, commands: Commands, names: Mapping[str, Mapping[str, str]]) -> str:
    """The script for `shell`.

    names: of some commands, what their first argument may be, each name with its line
    """
    table = {name: (command, _first_line(command)) for name, command in commands.items()}
    for name, firsts in names.items():  # each name as a command of its own: tyro completes no other words
        table[name] = _union({first: (commands[name], line) for first, line in firsts.items()}), table[name][1]
    with redirect_stdout(io.StringIO()) as script, suppress(SystemExit):
        tyro.cli(_union(table), prog="stiction", args=["--tyro-print-completion", shell])
    # In what the script knows of us, a line break in a description would begin a new word to choose.
    return re.sub("(?m)^.*COMPLETION_SPEC = .*$", lambda line: line[0].replace(r"\n", " "), script.getvalue())


def _union(commands: Mapping[str, tuple[Any, str]]) -> Any:
    each = (
        Annotated[Any, tyro.conf.subcommand(name, constructor=command, description=about)]
        for name, (command, about) in commands.items()
    )
    return Union[tuple(each)]  # noqa: UP007, there are as many as the table has


def _first_line(command: Callable[..., None]) -> str:
    return (command.__doc__ or "").partition("\n")[0]
