"""The command line: the table of commands, and how one of them is run."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Annotated

import tyro

import stiction
from stiction.basics.checks import known
from stiction.basics.environment import version_of
from stiction.commands import arguments as menu
from stiction.commands.learning import collect, evaluate, identify, import_, train
from stiction.commands.simulating import simulate, view

# The distribution stiction-studies adds these commands through entry points of the group `stiction.commands`.
STUDIES = ("demo", "reproduce", "bench", "results")
ORDER = ("demo simulate view collect train evaluate import identify reproduce bench results completion").split()


def completion(shell: Annotated[menu.Shell, tyro.conf.Positional], /) -> None:
    """Print a script that lets your shell complete commands, options and studies.

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
        "completion": completion,
    }
    commands |= {point.name: point.load() for point in entry_points(group="stiction.commands")}
    return dict(sorted(commands.items(), key=lambda item: ORDER.index(item[0]) if item[0] in ORDER else len(ORDER)))


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line `args` (the process's own by default) and return the exit code."""
    try:
        _run(list(sys.argv[1:] if args is None else args))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough; nothing more may be written to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except stiction.InputError as error:
        print(f"stiction: {error}", file=sys.stderr)
        return 2
    except (OSError, menu.CommandError) as error:  # such as a full disk
        print(f"stiction: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print("stiction: There is not enough memory for this.", file=sys.stderr)
        return 1
    return 0


def _run(args: list[str]) -> None:
    version = f"stiction {version_of('stiction')}"
    if args == ["--version"]:
        print(version)
    elif args and not args[0].startswith("-"):
        commands = all_commands()
        if args[0] in STUDIES and args[0] not in commands:
            raise stiction.InputError(f"`stiction {args[0]}` needs the studies: pip install stiction-studies.")
        name = known("command", args[0], commands)
        tyro.cli(commands[name], prog=f"stiction {name}", args=args[1:])
    else:
        more = "`stiction COMMAND --help` says more of a command, `stiction --version` prints the version."
        about = f"{version}: contact laws for rigid bodies.\n\n{more}"
        tyro.cli(menu.menu(all_commands()), prog="stiction", description=about, args=args or ["--help"])
