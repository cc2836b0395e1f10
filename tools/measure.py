"""Print the size and the shape of the code base: what a reader has to hold in mind.

    python tools/measure.py [REPOSITORY]

Counts lines of files under version control, modules that an import loads, and patterns that make code hard to follow.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGES = {"stiction": "src/stiction", "stiction_studies": "studies/src/stiction_studies"}
ENTRIES = ("rollout", "Simulation", "identify", "train")  # public names whose imports are counted
PUBLIC = ("stiction", *(f"stiction.{name}" for name in ("cli", "dart", "gym", "mujoco", "paper", "recordings")))
METHOD = re.compile(r"^\s+(?:[\w:<>,&*\s\[\]]+\s)?[~\w]+\([^;{]*\)\s*(?:const)?\s*(?:noexcept|override)?\s*[;{]")


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    tracked = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    files = [root / name for name in tracked if (root / name).is_file()]
    installed = [f for f in files if f.suffix == ".py" and f.is_relative_to(root / "src")]
    studies = [f for f in files if f.suffix == ".py" and f.is_relative_to(root / "studies/src")]
    core = [f for f in files if f.suffix in (".cpp", ".hpp") and f.is_relative_to(root / "core")]
    unit_tests = [f for f in core if f.is_relative_to(root / "core/tests")]
    tests = [f for f in files if f.suffix == ".py" and f.name.startswith("test_")]
    python = installed + studies
    trees = {file: ast.parse(file.read_text()) for file in python}

    rows = [
        ("installed Python: lines / files", f"{lines(installed):,} / {len(installed)}"),
        ("all Python without tests: lines / files", f"{lines(python):,} / {len(python)}"),
        ("C++: lines / files", f"{lines(set(core) - set(unit_tests)):,} / {len(core) - len(unit_tests)}"),
        ("tests, Python: lines / files", f"{lines(tests):,} / {len(tests)}"),
    ]
    tested = [f for f in files if re.match(r"(tests|fuzz|studies/tests)/.*py$|conftest.py", str(f.relative_to(root)))]
    imported = [public for file in tested for public in imports(ast.parse(file.read_text()))]
    rows.append(("imports in tests: internal / public", f"{imported.count(False)} / {imported.count(True)}"))
    sizes = [str(closure(root, name)) for name in ENTRIES]
    rows.append((f"modules loaded by {' / '.join(ENTRIES)}", " / ".join(sizes)))
    classes = sorted(((methods(c), c.name) for tree in trees.values() for c in nodes(tree, ast.ClassDef)), reverse=True)
    functions = [f for tree in trees.values() for f in nodes(tree, ast.FunctionDef)]
    longest = max((arguments(f), f.name) for f in functions)
    cpp = max((count, name) for file in core for name, count in cpp_methods(file.read_text()).items())
    rows.append(
        ("methods of the largest class, Python; C++", f"{classes[0][0]} ({classes[0][1]}); {cpp[0]} ({cpp[1]})")
    )
    rows.append(
        ("longest argument list", f"{longest[0]} ({longest[1]}); above 8: {sum(arguments(f) > 8 for f in functions)}")
    )
    names = Counter(file.name for file in python if file.name != "__init__.py")
    rows.append(("basenames that occur twice", str(sum(count > 1 for count in names.values()))))
    forwarding = sum(len(re.findall(r"\*\*how\b|\bhow(?:: [^=]*)? = |\bhow \|= ", file.read_text())) for file in python)
    rows.append(("arguments forwarded by **how", str(forwarding)))
    constants = sum(len(list(tuning(tree))) for tree in trees.values())
    in_core = sum(
        len(re.findall(r"^(?:inline |static )*constexpr (?:double|float|int|long|std::int64_t) ", f.read_text(), re.M))
        for f in core
    )
    rows.append(("numeric constants of modules: Python + C++", f"{constants} + {in_core}"))
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:{width}}  {value}" for name, value in rows))


def lines(files) -> int:
    return sum(file.read_text().count("\n") for file in files)


def nodes(tree: ast.AST, kind: type) -> Iterator:
    return (node for node in ast.walk(tree) if isinstance(node, kind))


def imports(tree: ast.AST) -> Iterator[bool]:
    """Whether each name that is imported from stiction comes from a public module; `_core` is internal."""
    for node in nodes(tree, ast.ImportFrom):
        if node.module and node.module.split(".")[0] == "stiction":
            yield from (node.module in PUBLIC and not alias.name.startswith("_") for alias in node.names)
    for node in nodes(tree, ast.Import):
        yield from (alias.name in PUBLIC for alias in node.names if alias.name.split(".")[0] == "stiction")


def methods(node: ast.ClassDef) -> int:
    return sum(isinstance(part, ast.FunctionDef) for part in node.body)


def arguments(node: ast.FunctionDef) -> int:
    given = node.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def tuning(tree: ast.Module) -> Iterator[ast.stmt]:
    """Assignments of numbers, or of tuples of numbers, to names in capitals at the level of a module."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            named = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            numbers = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
            simple = all(
                isinstance(
                    n, ast.Constant | ast.Tuple | ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop | ast.Load
                )
                for n in ast.walk(node.value)
            )
            if simple and all(name.strip("_").isupper() for name in named) and numbers:
                if all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers):
                    yield from [node] * len(named)


def cpp_methods(text: str) -> Counter:
    """Functions declared in each class of a header, roughly: lines of one indentation that look like a declaration."""
    found: Counter = Counter()
    inside = None
    for line in text.splitlines():
        if begin := re.match(r"^(?:template <[^>]*> )?(?:class|struct) (\w+)[^;]*\{$", line):
            inside = begin[1]
        elif line.startswith("};"):
            inside = None
        elif (
            inside
            and re.match(r"^ {4}\S", line)
            and METHOD.match(line)
            and not re.match(r"^\s+(return|if|for|while)\b", line)
        ):
            found[inside] += 1
    return found or Counter({"-": 0})


def closure(root: Path, name: str) -> int | str:
    """How many modules of the package are loaded after a public name has been used once."""
    paths = [str(root / folder.rpartition("/")[0]) for folder in PACKAGES.values()]
    code = f"import sys; sys.path[:0] = {paths!r}; import stiction; "
    code += f"stiction.{'mujoco.' if name == 'Simulation' else ''}{name}; "
    code += "print(sum(m.startswith('stiction.') and getattr(sys.modules[m], '__file__', '').endswith('.py') "
    code += "and not getattr(sys.modules[m], '__file__', '').endswith('__init__.py') for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else "?"


if __name__ == "__main__":
    main()
