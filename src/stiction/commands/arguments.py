"""Argument types that commands share, the list of commands for help, and scripts for shell completion."""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union

import tyro

from stiction.basics.errors import InputError

OptionalFolder = Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="(optional)")]
Triple = Annotated[tuple[float, float, float], tyro.conf.arg(metavar="X Y Z")]
F = TypeVar("F", bound=Callable[..., None])


class CommandError(Exception):
    """A command could not finish all of its work; the message names what failed."""


def with_options(sentence: str, args: Sequence[str]) -> str:
    """An error in the words of the command line: `scale=0.001` becomes --scale 0.001, `hull=True` becomes --hull.

    args: of the command; a name of one of its options at the start of the sentence becomes that option
    """
    first = "--" + sentence.partition(" ")[0]
    sentence = sentence if first not in args else "--" + sentence
    words = re.sub(r"`(\w+)=(\S+?)`", lambda found: f"--{found[1]} {found[2]}".replace("_", "-"), sentence)
    return re.sub(r"(--[\w-]+) True", r"\1", words)


def scale_of(quick: bool, full: bool) -> str:
    """The scale of a measurement, "quick", "usual" or "full", from its two flags."""
    if quick and full:
        raise InputError("Give --quick or --full, not both.")
    return "quick" if quick else "full" if full else "usual"


def lines(about: Mapping[str, str]) -> str:
    """A table of names and descriptions, one per line."""
    width = max(map(len, about))
    return "\n".join(f"  {name:{width}}  {text}" for name, text in about.items())


def explains(about: Mapping[str, str]) -> Callable[[F], F]:
    """Insert a table of names and descriptions into the help of a command, before its arguments."""

    def explained(command: F) -> F:
        text, heading, arguments = cleandoc(command.__doc__ or "").partition("Args:\n")
        command.__doc__ = f"{text.rstrip()}\n{lines(about)}\n\n{heading}{arguments}"
        command.choices = about  # pyright: ignore[reportFunctionMemberAccess]; for shell completion
        return command

    return explained


@contextmanager
def loading() -> Iterator[None]:
    """Show a status line at the terminal during slow imports: torch alone takes seconds."""
    from stiction.basics.progress import status

    with status("Loading"):
        yield


Commands = Mapping[str, Callable[..., None]]
Shell = Literal["bash", "zsh", "fish"]


def menu(commands: Commands) -> Any:
    """The choice of one command, each with the first line of its help, as a type for tyro."""
    return _union({name: (command, _first_line(command)) for name, command in commands.items()})


def completion(shell: Shell, commands: Commands, names: Mapping[str, Mapping[str, str]]) -> str:
    """The completion script for `shell`; names: command -> allowed first arguments with their descriptions."""
    table = {name: (command, _first_line(command)) for name, command in commands.items()}
    for name, firsts in names.items():  # as subcommands: tyro completes no other words
        table[name] = _union({first: (commands[name], line) for first, line in firsts.items()}), table[name][1]
    with redirect_stdout(io.StringIO()) as script, suppress(SystemExit):
        tyro.cli(_union(table), prog="stiction", args=["--tyro-print-completion", shell])
    # A line break in a description would start a new word to choose.
    return re.sub("(?m)^.*COMPLETION_SPEC = .*$", lambda line: line[0].replace(r"\n", " "), script.getvalue())


def _union(commands: Mapping[str, tuple[Any, str]]) -> Any:
    each = (
        Annotated[Any, tyro.conf.subcommand(name, constructor=command, description=about)]
        for name, (command, about) in commands.items()
    )
    return Union[tuple(each)]  # noqa: UP007, there are as many as the table has


def _first_line(command: Callable[..., None]) -> str:
    return (command.__doc__ or "").partition("\n")[0]
