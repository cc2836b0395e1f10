"""The command line: the table of commands, and how one of them is run. Imports no NumPy, so that help is quick."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Annotated

import tyro

from stiction.basics.environment import version_of
from stiction.basics.errors import InputError, known
from stiction.commands import arguments as menu
from stiction.commands.learning import collect, evaluate, export, identify, import_, train
from stiction.commands.simulating import simulate, view

# Order of the help. The distribution stiction-studies adds the STUDIES through entry points (group stiction.commands).
ORDER = "demo simulate view collect train evaluate import identify export reproduce bench results completion".split()
STUDIES = ("demo", "reproduce", "bench", "results")


def completion(shell: Annotated[menu.Shell, tyro.conf.Positional], /) -> None:
    """Print a script with which your shell completes commands, options and studies.

    Args:
        shell: The shell to write the script for.
    """
    commands = all_commands()
    print(menu.completion(shell, commands, {name: c.choices for name, c in commands.items() if hasattr(c, "choices")}))


def all_commands() -> dict[str, Callable[..., None]]:
    """The commands of this package and those that other distributions add, by name, in the order of the help."""
    commands: dict[str, Callable[..., None]] = {
        "simulate": simulate,
        "view": view,
        "collect": collect,
        "train": train,
        "evaluate": evaluate,
        "import": import_,
        "identify": identify,
        "export": export,
        "completion": completion,
    }
    commands |= {point.name: point.load() for point in entry_points(group="stiction.commands")}
    return dict(sorted(commands.items(), key=lambda item: ORDER.index(item[0]) if item[0] in ORDER else len(ORDER)))


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line `args` (by default of this process) and return the exit code."""
    args = list(sys.argv[1:] if args is None else args)
    try:
        _run(args)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has closed it; write no more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except InputError as error:
        print(f"stiction: {menu.with_options(str(error), args)}", file=sys.stderr)
        return 2
    except (OSError, menu.CommandError) as error:  # such as a full disk
        print(f"stiction: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print("stiction: there is not enough memory.", file=sys.stderr)
        return 1
    return 0


def _run(args: list[str]) -> None:
    version = f"stiction {version_of('stiction')}"
    if args == ["--version"]:
        print(version)
    elif args and not args[0].startswith("-"):
        commands = all_commands()
        if args[0] in STUDIES and args[0] not in commands:
            raise InputError(f"`stiction {args[0]}` needs the studies: pip install stiction-studies.")
        name = known("command", args[0], commands)
        tyro.cli(commands[name], prog=f"stiction {name}", args=args[1:])
    else:
        more = "`stiction COMMAND --help` describes a command, `stiction --version` prints the version."
        about = f"{version}: contact laws for rigid bodies.\n\n{more}"
        tyro.cli(menu.menu(all_commands()), prog="stiction", description=about, args=args or ["--help"])
