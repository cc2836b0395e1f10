"""Documents keep their word: the code of the tutorial and the how-to pages runs, and so do the notebooks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def code_of(page: Path) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if code_of(page)], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_in_an_empty_folder(page, tmp_path):
    for package in ("mujoco", "pyarrow", "matplotlib"):
        pytest.importorskip(package)
    (tmp_path / "page.py").write_text(code_of(page))
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs_in_an_empty_folder(notebook, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient").NotebookClient
    for package in ("mujoco", "pyarrow", "matplotlib", "ipykernel"):
        pytest.importorskip(package)
    content = nbformat.read(notebook, as_version=4)
    client(content, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(output for cell in content.cells if cell.cell_type == "code" for output in cell.outputs)
