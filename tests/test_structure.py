"""The rooms of the package: who may import whom, and who knows a family of tasks."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "graphdep"
MODULES = sorted(PACKAGE.rglob("*.py"))
FAMILIES = sorted(p.name for p in (PACKAGE / "tasks").iterdir() if (p / "family.py").is_file())
# Any other may stand on these: post-training takes its corpora from the tasks of response selection.
GROUND = ("dialogues", "labels", "selection", "sentences", "spans")
# From the ground up; a room may import those before it and itself. Rooms of a line do not know one another.
FLOORS = (
    ("graphdep.version",),
    ("graphdep.visualization.scene",),
    ("graphdep.visualization.rows",),
    ("graphdep.io.extras",),
    (
        "graphdep.io.lazy_imports",
        "graphdep.io.files",
        "graphdep.io.console",
        "graphdep.io.process",
    ),
    ("graphdep.io.limits",),
    ("graphdep.sentence",),
    ("graphdep.io",),
    ("graphdep.metrics", "graphdep.vocab", "graphdep.parsing"),
    ("graphdep.data",),
    ("graphdep.transforms", "graphdep.decoding"),
    ("graphdep.nn.dropout", "graphdep.nn.passes"),
    ("graphdep.nn.attention",),
    ("graphdep.nn.prepared",),
    ("graphdep.nn.conv",),
    ("graphdep.nn.models",),
    ("graphdep.nn.pretrained",),
    ("graphdep.nn.static_batch",),
    ("graphdep.nn.graphed_step",),
    (
        "graphdep.nn.explain",
        "graphdep.visualization.plots",
        "graphdep.visualization.side",
        "graphdep.human_eval",
    ),
    ("graphdep.datasets.base",),
    ("graphdep.datasets.sentences", "graphdep.datasets.dialogues"),
    ("graphdep.datasets.selection",),
    ("graphdep.datasets.post_training", "graphdep.datasets.mini"),
    ("graphdep.datasets",),
    ("graphdep.training",),
    ("graphdep.visualization",),
    tuple(f"graphdep.tasks.{n}" for n in GROUND),
    tuple(f"graphdep.tasks.{n}" for n in FAMILIES if n not in GROUND),
    ("graphdep.tasks",),
    ("graphdep.testing", "graphdep.cli"),
    ("graphdep",),
)
# The one file of training that loads the tasks, so that whoever takes a part of training finds them.
DOOR = PACKAGE / "training" / "__init__.py"
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The longest name of a room that the module is in; what lies in the root itself is the roof."""
    while module not in FLOOR:
        module = module.rpartition(".")[0]
    return module


NAMES = {module_of(path) for path in MODULES}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> list[tuple[str, int]]:
    """Modules of the package that a file imports anywhere, in functions and for types as well."""
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in names if name in NAMES]
            found += [(name, node.lineno) for name in (modules or [node.module])]
    return [(name, line) for name, line in found if name.partition(".")[0] == "graphdep"]


def test_no_import_points_up():
    up = []
    for path in MODULES:
        if path == DOOR:
            continue
        mine = room_of(module_of(path))
        up += [
            f"{path.relative_to(ROOT)}:{line} imports {name}"
            for name, line in imports_of(path)
            if room_of(name) != mine and FLOOR[room_of(name)] >= FLOOR[mine]
        ]
    assert not up


def test_no_circle():
    graph = {module_of(path): {name for name, _ in imports_of(path)} for path in MODULES}
    # A package's face hands on what its files have: that is no import of theirs.
    faces = {module_of(path) for path in MODULES if path.name == "__init__.py"}
    graph = {
        name: (others & graph.keys()) - faces - {name} for name, others in graph.items() if name not in faces
    }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above[above.index(name) :], name))
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*above, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_training_knows_no_task():
    known = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in (PACKAGE / "training").rglob("*.py")
        if path != DOOR
        for name, line in imports_of(path)
        if name.startswith("graphdep.tasks")
    ]
    assert not known


def test_a_family_is_known_in_its_own_folder_alone():
    """Whoever else asks which family it is would have to be changed for every new one."""
    classes = {
        node.name
        for family in FAMILIES
        for path in (PACKAGE / "tasks" / family).rglob("*.py")
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef)
    }
    found = []
    for path in MODULES:
        relative = path.relative_to(PACKAGE)
        if relative.parts[:1] == ("tasks",) and len(relative.parts) > 2:
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                names = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                found += [f"{relative}:{node.lineno} asks for {name}" for name in names & classes]
    assert not found


def test_the_root_has_four_files():
    names = {p.name for p in PACKAGE.glob("*.py")}
    assert names == {"__init__.py", "__main__.py", "testing.py", "version.py"}


def test_every_family_is_in_the_registry():
    from graphdep.tasks import FAMILIES as REGISTERED

    rooms = sorted(family.learner.split(".")[2] for family in REGISTERED)
    assert rooms == FAMILIES
