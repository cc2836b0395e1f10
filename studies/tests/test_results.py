"""Documents are made of what studies wrote."""

import json
import re
from pathlib import Path

import pytest

from stiction import InputError
from stiction_studies import results

ROOT = Path(__file__).parents[2]
TABLES = """**Creep**

|  | a |
|---|---:|
| stiction | 0 |

A note.

**Cost**

|  | b |
|---|---:|
| x | 2 |
"""


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "out" / "slope"
    place.mkdir(parents=True)
    (place / "tables.md").write_text(TABLES)
    figures = {"title": "At rest", "command": "stiction reproduce slope --full --out /somewhere", "commit": "abc1234"}
    (place / "results.json").write_text(json.dumps(figures | {"duration_s": 90.0}))
    return tmp_path / "out"


def test_all_tables_come_with_their_command_and_commit(folder, tmp_path):
    results.write(folder, tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert "| [At rest](#slope) | `stiction reproduce slope --full --out DIR` | abc1234 | 1.5 |" in text
    assert "| stiction | 0 |" in text and "| x | 2 |" in text and "A note." in text


def test_marked_places_are_filled(folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Before\n<!-- table slope: Cost -->\nold\n<!-- end -->\nafter\n")
    results.write(folder, tmp_path / "results.md", pages=(page,))
    expected = "Before\n<!-- table slope: Cost -->\n|  | b |\n|---|---:|\n| x | 2 |\n<!-- end -->\nafter\n"
    assert page.read_text() == expected


def test_a_table_that_is_not_there_changes_nothing(folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- table slope: Speed -->\n<!-- end -->\n")
    with pytest.raises(InputError, match="needs the table 'Speed' of slope"):
        results.write(folder, tmp_path / "results.md", pages=(page,))
    assert not (tmp_path / "results.md").exists()


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(InputError, match="There are no results in"):
        results.write(tmp_path, tmp_path / "results.md")


def test_the_tables_of_the_readme_are_those_of_the_results():
    readme, page = ((ROOT / name).read_text() for name in ("README.md", "docs/results.md"))
    places = re.findall(r"<!-- table .+? -->\n(.*?)<!-- end -->", readme, flags=re.DOTALL)
    assert len(places) == 2 and all(table.startswith("|") and table.strip() in page for table in places)


def test_places_of_other_studies_may_be_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- table a: One -->\nold\n<!-- end -->\n<!-- table b: Two -->\nold\n<!-- end -->\n")
    text = results.filled(page, {"a": {"One": "| new |"}}, others=True)
    assert text == page.read_text().replace("old", "| new |", 1)
