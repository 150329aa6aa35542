"""Names that could mislead a reader: private ones used elsewhere, stale ones, shadows, aliases."""

import ast
import builtins
import re
from functools import cache

import pytest

from tests.conftest import ROOT

ROOMS = ("validation_core", "pages", "tests", "benchmarks")
OURS = {*ROOMS, "app"}
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
PRODUCT = [
    path for path in FILES if path.relative_to(ROOT).parts[0] in {"validation_core", "pages"}
]

# What other packages offer under no public name, and who needs it.
BORROWED = {
    ("validation_core/cli/process.py", "os._exit"): "ends a process whose threads still write",
    (
        "pages/ui/ending.py",
        "os._exit",
    ): "ends a server by the code of Ctrl-C, which Streamlit sets",
    ("validation_core/engine/worker.py", "os._exit"): "ends a worker whose parent is gone",
    ("benchmarks/peers/sbc.py", "sbc._run_sbc"): "a peer's work, without its bar",
}
SHORT_FORMS = {"np", "pd", "st", "go", "npt", "m", "metadata"}
NAMED_TUPLE = {"_fields", "_replace", "_asdict", "_make"}
ENDINGS = {"py", "md", "npz", "npy", "html", "toml", "txt", "json", "csv", "js"}


@cache
def tree(path):
    return ast.parse(path.read_text())


def name(path):
    return str(path.relative_to(ROOT))


def is_private(word):
    return word.startswith("_") and not word.startswith("__") and word not in NAMED_TUPLE


@cache
def imported(path):
    """Local name -> full name, of all that a file imports."""
    names = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {(one.asname or one.name).split(".")[0]: one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            names |= {one.asname or one.name: f"{source}.{one.name}" for one in node.names}
    return names


def borrowed(path):
    """Private names that a file imports, reads from a module or patches there."""
    local = imported(path)
    for full in local.values():
        if is_private(full.rpartition(".")[2]) and full.split(".")[0] in OURS:
            yield full
    for node in ast.walk(tree(path)):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in local
            and is_private(node.attr)
        ):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in PATCHES:
            owner, *rest = node.args[:2]
            dotted = getattr(owner, "value", "")
            if isinstance(dotted, str) and is_private(dotted.rpartition(".")[2]):
                yield dotted
            elif rest and isinstance(owner, ast.Name) and owner.id in local:
                patched = getattr(rest[0], "value", "")
                if isinstance(patched, str) and is_private(patched):
                    yield f"{owner.id}.{patched}"


PATCHES = {"setattr", "delattr"}


def test_private_names_stay_in_their_file():
    """Tests, too: what a test needs is public, or is tested by what is."""
    found = [
        f"{name(path)} uses {full}"
        for path in FILES
        for full in sorted(set(borrowed(path)))
        if (name(path), full) not in BORROWED
    ]
    assert found == []


@cache
def known():
    """Every word that the tree defines, imports, or writes as a short text."""
    words = set(dir(builtins))
    for path in FILES:
        words |= set(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(tree(path)):
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    words.add(node.name)
                case ast.Name():
                    words.add(node.id)
                case ast.Attribute():
                    words.add(node.attr)
                case ast.arg():
                    words.add(node.arg)
                case ast.alias():
                    words |= set(node.name.split("."))
                case ast.Constant(value=str()) if len(node.value) < 60:
                    words |= set(re.findall(r"\w+", node.value))
    return words


def named_in(docstring):
    """Exceptions under Raises, dotted names in backticks."""
    if block := re.search(r"Raises:\n((?:    .*\n?|\n)+)", docstring):
        yield from re.findall(r"^    ([A-Z_]\w+):", block[1], re.MULTILINE)
    for dotted in re.findall(r"`([A-Za-z_]\w*(?:\.\w+)+)`", docstring):
        if dotted.rsplit(".", 1)[1] not in ENDINGS:
            yield dotted
    yield from re.findall(r"`(_\w+)`", docstring)


def test_docstrings_name_what_exists():
    stale = [
        f"{name(path)}: {word}"
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for word in named_in(ast.get_docstring(node) or "")
        if not set(word.split(".")) <= known()
    ]
    assert stale == []


@pytest.mark.parametrize("path", PRODUCT, ids=name)
def test_locals_hide_no_function_of_their_file(path):
    own = {
        node.name for node in tree(path).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    hidden = {
        f"line {node.lineno}: {node.id}"
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in own
    }
    assert hidden == set()


@pytest.mark.parametrize("path", PRODUCT, ids=name)
def test_imports_keep_their_own_names(path):
    """A longer name may say whose it is (`colt_centre` of `centre`); another one hides it."""
    renamed = [
        f"{node.module}.{one.name} as {one.asname}"
        for node in tree(path).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS
        for one in node.names
        if one.asname
        and one.name.islower()
        and one.asname not in SHORT_FORMS
        and not one.asname.endswith(one.name)
    ]
    assert renamed == []


ALIKE = {
    "Array": "export/ runs alone, beside a user's model",
    "Quantity": "export/ runs alone",
    "Table": "export/ runs alone: what it saves is what npt.Table reads",
    "Outcome": "of a test's statistics, and of a gate",
    "Row": "of a stream at the terminal, and of an answer's table",
    "Rows": "of a result, whatever they hold, and of an answer",
    "Words": "of a column of text, and on a picture",
}
"""Names of two types that stay."""


def types(path):
    """Public classes and aliases of types that a file defines."""
    for node in tree(path).body:
        match node:
            case ast.ClassDef(name=word):
                yield word
            case ast.Assign(targets=[ast.Name(id=word)]) if re.match("[A-Z][A-Za-z]*[a-z]", word):
                yield word


def test_a_public_type_name_means_one_thing():
    homes = {}
    for path in PRODUCT:
        for word in set(types(path)):
            if not is_private(word):
                homes.setdefault(word, []).append(name(path))
    twice = {word: files for word, files in homes.items() if len(files) > 1}
    assert {word: files for word, files in twice.items() if word not in ALIKE} == {}
    assert set(twice) == set(ALIKE), "these mean one thing now: take them off the list"


def test_rooms_import_one_another_in_no_circle():
    """Rooms are the folders and modules directly below validation_core."""
    edges = {}
    for path in PRODUCT:
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] != "validation_core" or parts[1] == "__init__":
            continue
        sources = (full.split(".") for full in imported(path).values())
        rooms = {full[1] for full in sources if full[0] == "validation_core" and len(full) > 1}
        edges.setdefault(parts[1], set()).update(rooms - {parts[1]})
    while free := {room for room, needs in edges.items() if not needs & set(edges)}:
        edges = {room: needs for room, needs in edges.items() if room not in free}
    assert edges == {}, "each of these is in a circle, or above one"
