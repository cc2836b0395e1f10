"""Our docstrings list arguments and fields as `name: text`, one a line; Markdown would run the lines together."""

import re
from textwrap import dedent
from typing import Any

from griffe import Extension, Object

ITEM = re.compile(r"^(\w+(?:, \w+)*): (?=\S)")


def listed(text: str) -> str:
    """The text with lines `name: text` as bullet lists, and indented examples as blocks of code."""
    return "\n\n".join(_example(part) or _list(part) for part in re.split(r"\n\s*\n", text))


def _example(part: str) -> str:
    """A block of code, or nothing if the part is something else."""
    if not all(line.startswith("    ") for line in part.splitlines()):
        return ""
    return f"```python\n{dedent(part).rstrip()}\n```"


def _list(part: str) -> str:
    lines = []
    for line in part.splitlines():
        item = ITEM.match(line)
        if item and lines and not lines[-1].startswith(("- ", " ")):
            lines.append("")  # a list begins after a blank line
        lines.append(f"- `{item[1]}`: {line[item.end() :]}" if item else line)
    return "\n".join(lines).replace('"*"', '`"*"`')  # no emphasis


class Lists(Extension):
    """Change the docstrings of all objects before they are rendered."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe for every object that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)
