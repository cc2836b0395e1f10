"""All commands together: as a list for help, and as a script with which a shell completes their words."""

import io
import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from typing import Annotated, Any, Literal, Union

import tyro

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
