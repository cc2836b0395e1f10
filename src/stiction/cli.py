"""The command line: the table of commands, and how one of them is run."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import tyro

import stiction
from stiction.basics.names import known
from stiction.basics.versions import version_of
from stiction.commands import menu
from stiction.commands.bench import CASES, bench
from stiction.commands.collect import collect
from stiction.commands.demo import demo
from stiction.commands.evaluate import evaluate
from stiction.commands.recordings import identify, import_
from stiction.commands.reproduce import reproduce
from stiction.commands.results import results
from stiction.commands.simulate import simulate
from stiction.commands.train import train
from stiction.commands.view import view
from stiction.studies import listed


def completion(shell: Annotated[menu.Shell, tyro.conf.Positional], /) -> None:
    """Print a script that lets your shell complete commands, options and studies.

    Args:
        shell: Yours.
    """
    print(menu.completion(shell, COMMANDS, {"reproduce": listed.ABOUT, "bench": CASES}))


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "simulate": simulate,
    "view": view,
    "collect": collect,
    "train": train,
    "evaluate": evaluate,
    "import": import_,
    "identify": identify,
    "reproduce": reproduce,
    "bench": bench,
    "results": results,
    "completion": completion,
}


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
    except (OSError, listed.StudyError) as error:  # such as a full disk
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
        name = known("command", args[0], COMMANDS)
        tyro.cli(COMMANDS[name], prog=f"stiction {name}", args=args[1:])
    else:
        more = "`stiction COMMAND --help` says more of a command, `stiction --version` prints the version."
        about = f"{version}: contact laws for rigid bodies.\n\n{more}"
        tyro.cli(menu.menu(COMMANDS), prog="stiction", description=about, args=args or ["--help"])
