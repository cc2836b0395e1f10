"""Render docstring lines `name: text` (arguments and fields) as lists; Markdown would join the lines."""

import re
from textwrap import dedent
from typing import Any

from griffe import Extension, Object

ITEM = re.compile(r"^(\w+(?:, \w+)*): (?=\S)")


def listed(text: str) -> str:
    """Return the text with lines `name: text` as bullet lists and indented examples as code blocks."""
    return "\n\n".join(_example(part) or _list(part) for part in re.split(r"\n\s*\n", text))


def _example(part: str) -> str:
    """Return the part as a code block, or an empty string if it is not an indented example."""
    if not all(line.startswith("    ") for line in part.splitlines()):
        return ""
    return f"```python\n{dedent(part).rstrip()}\n```"


def _list(part: str) -> str:
    lines = []
    for line in part.splitlines():
        item = ITEM.match(line)
        if item and lines and not lines[-1].startswith(("- ", " ")):
            lines.append("")  # Markdown needs a blank line before a list
        lines.append(f"- `{item[1]}`: {line[item.end() :]}" if item else line)
    return "\n".join(lines).replace('"*"', '`"*"`')  # otherwise rendered as emphasis


class Lists(Extension):
    """Rewrite the docstrings of all objects before they are rendered."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring; griffe calls this for every object."""
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)
