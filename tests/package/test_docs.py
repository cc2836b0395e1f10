"""What the documents name exists: each `path`, and each name in it that is written as `path:name`."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)  # examples, which run elsewhere
CODE = re.compile(r"`([^`]+)`")  # a name, or a whole command
MENTION = re.compile(r"((?:core|src|tests|examples)/|[\w/.-]+\.(?:py|cpp|hpp))(?::([\w.:]+))?")


def mentions(page: Path) -> set[tuple[str, str]]:
    """(path, name) of all that a page names; the name is empty where a file alone is named."""
    text = BLOCK.sub("", page.read_text())
    words = {word for code in CODE.findall(text) for word in code.split()}
    return {(match[1], match[2] or "") for word in words if (match := MENTION.fullmatch(word))}


def found(path: str) -> Path | None:
    """The file or folder, from the root of the repository or in the package."""
    return next((place / path for place in (ROOT, ROOT / "src/stiction") if (place / path).exists()), None)


def names_in(file: Path) -> set[str]:
    """Names that a file defines; of C++, all words outside of comments."""
    if file.suffix != ".py":
        return set(re.findall(r"\w+", re.sub(r"//.*", "", file.read_text())))
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    missing = []
    for path, name in sorted(mentions(page)):
        file = found(path)
        if file is None:
            missing.append(path)
        elif name:
            known = names_in(file)
            missing += [f"{path}:{name}" for part in re.split(r"[.:]+", name) if part not in known]
    assert not missing


def test_the_table_of_the_paper_names_most_of_the_core():
    named = {path for path, _ in mentions(ROOT / "docs/paper_to_code.md")}
    assert len(named) > 50
    assert {"core/contact/algorithm1.cpp", "core/multibody/algorithm2.cpp", "paper.py"} <= named


def test_every_file_of_the_core_is_on_its_map():
    text = (ROOT / "docs/core.md").read_text()
    files = [file for file in (ROOT / "core").rglob("*.[ch]pp")]
    missing = [str(file.relative_to(ROOT / "core")) for file in files if not re.search(rf"\b{file.stem}\b", text)]
    assert files and not missing
