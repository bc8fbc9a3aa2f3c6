"""Walls between rooms: no private attribute, no family test, no family name, no import upwards within a floor."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from test_architecture import FLOORS, RANK, ROOMS, SOURCE, imports, parsed, room_of

from hush.noise.catalogue import families

#: Rooms of one floor, the lower first: a room imports only rooms before it on its own floor.
ORDER = {room: place for floor in FLOORS for place, room in enumerate(floor)}

#: Classes of families, and the file in which each is at home.
FAMILY_CLASSES = {row.type.__name__: Path(row.type.__module__.replace(".", "/") + ".py") for row in families()}
NAMES = {row.name for row in families()}
#: The registry of theorems, which must know of whom a theorem speaks, and the papers' own bounds.
THEOREMS = {
    Path(f"hush/privacy/{name}.py")
    for name in ("theorem", "by_box", "by_norm", "by_ball", "by_lift", "by_rule", "by_selection", "paper_bounds")
}

#: Private names of other packages that have no public twin, with the reason.
FOREIGN = {
    "_check_value": "argparse: the message of an unknown command is ours",
    "_actions": "argparse: what a parser knows, for completion",
    "_subparsers": "argparse: what a parser knows, for completion",
    "_group_actions": "argparse: what a parser knows, for completion",
    "_choices_actions": "argparse: what a parser knows, for completion",
    "_AppendAction": "argparse: which options may be given again, for completion",
    "_SubParsersAction": "argparse: what a parser knows, for completion",
    "_exit": "os: leaves a process whose threads do not end",
    "_jdf": "pyspark: the frame behind a frame",
    "_jvm": "pyspark: the engine's own classes",
    "_sc": "pyspark: the context behind a session",
    "_session": "pyspark: the session of a backend of Ibis",
    "_asdict": "named tuples: their public method",
    "_replace": "named tuples: their public method",
    "_fields": "named tuples: their public attribute",
}


def home(path: Path) -> Path:
    return path.relative_to(SOURCE.parent)


def private_attributes(tree: ast.AST) -> list[tuple[int, str]]:
    """Private attributes of anything but self and cls, with their lines."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value
            if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
                continue
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                found.append((node.lineno, node.attr))
    return found


@cache
def defined_in_room(room: str) -> set[str]:
    """Private names that a room defines: methods, attributes set on self, class-level names, module-level names."""
    names: set[str] = set()
    for node in (node for path in ROOMS[room] for node in ast.walk(parsed(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def leaks(path: Path, text: str | None = None) -> list[tuple[int, str]]:
    tree = parsed(path) if text is None else ast.parse(text)
    return [
        (line, name)
        for line, name in private_attributes(tree)
        if name not in defined_in_room(room_of(path)) and name not in FOREIGN
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_no_private_attribute_of_another_room(room: str) -> None:
    assert [(path, *leak) for path in ROOMS[room] for leak in leaks(path)] == []


def family_tests(tree: ast.AST) -> list[tuple[int, str]]:
    """isinstance(x, Family), type(x) is Family, and case Family(): with their lines."""
    found = []
    for node in ast.walk(tree):
        named: list[ast.AST] = []
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            named = [node.args[1]]
        elif isinstance(node, ast.MatchClass):
            named = [node.cls]
        elif isinstance(node, ast.Compare) and any(
            isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq | ast.In) for op in node.ops
        ):
            named = [
                side
                for side in (node.left, *node.comparators)
                if isinstance(side, ast.Name | ast.Attribute | ast.Tuple)
            ]
        for inner in (one for part in named for one in ast.walk(part)):
            name = inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""
            if name in FAMILY_CLASSES:
                found.append((inner.lineno, name))
    return found


def foreign_tests(path: Path, text: str | None = None) -> list[tuple[int, str]]:
    tree = parsed(path) if text is None else ast.parse(text)
    return [
        (line, name)
        for line, name in family_tests(tree)
        if FAMILY_CLASSES[name] != home(path) and home(path) not in THEOREMS
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_family_is_tested_at_home_and_in_its_theorem_only(room: str) -> None:
    found = [(path, *test) for path in ROOMS[room] for test in foreign_tests(path)]
    assert found == [], "ask the family's descriptor (noise/family.py) instead of testing for its class"


#: What a family's name is compared with, as variables and attributes are called. A model, a body or a kind of question
#: may have the same name as a noise.
OF_FAMILIES = {"family", "families", "law", "name", "names", "noise"}


def _words(node: ast.AST) -> set[str]:
    """The names of variables and attributes in an expression."""
    inner = list(ast.walk(node))
    return {one.id for one in inner if isinstance(one, ast.Name)} | {
        one.attr for one in inner if isinstance(one, ast.Attribute)
    }


def name_tests(tree: ast.AST) -> list[tuple[int, str]]:
    """Comparisons of a noise, a family or a name with a family's name as a string."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and _words(node) & OF_FAMILIES:
            tested: list[ast.AST] = [node.left, *node.comparators]
        elif isinstance(node, ast.Match) and _words(node.subject) & OF_FAMILIES:
            tested = [case.pattern for case in node.cases]
        else:
            continue
        inner = [one for side in tested for one in ast.walk(side) if isinstance(one, ast.Constant)]
        found += [(one.lineno, one.value) for one in inner if one.value in NAMES]
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_comparison_with_a_familys_name(room: str) -> None:
    tests = [(path, *test) for path in ROOMS[room] for test in name_tests(parsed(path))]
    found = [(path, line, name) for path, line, name in tests if name != path.stem]
    assert found == [], "ask the family's descriptor (noise/family.py) instead of comparing with its name"


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_downwards_within_a_floor(room: str) -> None:
    for path, other in ((module, other) for module in ROOMS[room] for other in imports(module)):
        if other in RANK and RANK[other] == RANK[room] and other != room:
            assert ORDER[other] < ORDER[room], (
                f"{path}: {room} stands before {other} on its floor and must not import from it"
            )


# -- the checks themselves notice ----------------------------------------------------------------------------


def test_the_walls_notice_what_they_are_for() -> None:
    path = SOURCE / "errors.py"
    assert leaks(path, "ledger._read()\n") == [(1, "_read")]
    assert foreign_tests(path, "isinstance(noise, Laplace | Gaussian)\n") == [(1, "Laplace"), (1, "Gaussian")]
    assert foreign_tests(path, "match noise:\n    case Stable(alpha):\n        pass\n") == [(2, "Stable")]
    assert foreign_tests(path, "row.type is Skellam\n") == [(1, "Skellam")]
    assert name_tests(ast.parse("if name in ('gaussian', 'osgt') or row.name == 'laplace': pass")) == [
        (1, "gaussian"),
        (1, "osgt"),
        (1, "laplace"),
    ]
    assert name_tests(ast.parse("match plan.family:\n    case 'stable':\n        pass\n")) == [(2, "stable")]
    assert name_tests(ast.parse("if options.model == 'ball' or kind in ('interval', 'stable'): pass")) == []


#: Annotations of arguments that may be anything, or hold many values.
LOOSE = {
    "Any", "Array", "Collection", "Iterable", "Mapping", "NDArray", "Sequence", "dict", "list", "object", "set", "tuple"
}  # fmt: skip
#: Loose arguments that a message may print, by file and name, with the reason.
PLAIN = {
    ("tables", "kind"): "a type of Ibis, which is a fact of the schema",
    ("tables/policy/mistakes.py", "low"): "a number or a date, checked before",
    ("tables/policy/mistakes.py", "high"): "a number or a date, checked before",
}


def loose_arguments(function: ast.FunctionDef) -> set[str]:
    """The arguments of a function whose annotation allows more than one plain value."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return {
        one.arg
        for one in every
        if one.annotation is None or any(isinstance(n, ast.Name) and n.id in LOOSE for n in ast.walk(one.annotation))
    } - {"self", "cls"}


def printed_values(tree: ast.AST) -> list[tuple[int, str]]:
    """Values that a message prints without errors.shown: every !r, and loose arguments in errors."""
    found = [
        (node.lineno, ast.unparse(node.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue) and node.conversion == ord("r")
    ]
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        loose = loose_arguments(function)
        for error in ast.walk(function):
            called = error.func.id if isinstance(error, ast.Call) and isinstance(error.func, ast.Name) else ""
            if not (isinstance(error, ast.Raise) or called in ("reject", "Mistake", "refusal")):
                continue
            for node in ast.walk(error):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("repr", "str"):
                    value = node.args[0]
                elif isinstance(node, ast.FormattedValue):
                    value = node.value
                else:
                    continue
                if isinstance(value, ast.Name) and value.id in loose:
                    found.append((node.lineno, value.id))
    return sorted(set(found))


@pytest.mark.parametrize("room", ROOMS)
def test_a_message_prints_values_with_shown_only(room: str) -> None:
    found = [
        (path, line, name)
        for path in ROOMS[room]
        if path.name != "errors.py"
        for line, name in printed_values(parsed(path))
        if not any(str(home(path)).removeprefix("hush/").startswith(where) for where, known in PLAIN if known == name)
    ]
    assert found == [], "print it with hush.errors.shown: the caller may have given rows of people"


def test_the_wall_against_printed_values_sees_them() -> None:
    text = """
def f(x: Any, name: str, rows: Sequence[int]):
    raise InvalidParameter(f"{name} must be {x!r}")
    raise InvalidParameter(f"{name} must be one of {rows}, got " + repr(x))
"""
    assert printed_values(ast.parse(text)) == [(3, "x"), (4, "rows"), (4, "x")]


#: Calls of Ibis that compare values of rows. Text is compared by its bytes: a collation would make several spellings
#: one person, one group or one block.
COMPARING = ("isin", "distinct", "nunique", "value_counts", "anti_join", "semi_join", "topk")
#: Lines whose values are numbers, or constants beside text that is lower-cased already.
PLAIN_VALUES = ("low.isin(_TRUE)", "np.isin(", "rows.anti_join(listed, conditions)", "paid.distinct")


def loose_comparisons(text: str) -> list[str]:
    """The lines that compare values of rows without `compared`, `by_bytes` or `is_one_of`."""
    called = [
        text.splitlines()[node.lineno - 1].strip()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COMPARING
    ]
    safe = ("compared(", "by_bytes(", "is_one_of(", "who.name(", *PLAIN_VALUES)
    return [line for line in called if not any(word in line for word in safe)]


def test_values_of_rows_are_compared_by_their_bytes() -> None:
    assert loose_comparisons("kept = table.filter(table[name].isin(values))") != []  # the check can tell
    for room in ("tables", "stream"):
        assert [(str(path), line) for path in ROOMS[room] for line in loose_comparisons(path.read_text())] == []
