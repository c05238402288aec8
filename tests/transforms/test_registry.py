from __future__ import annotations

import importlib
import sys

import pytest
from torch_geometric.transforms import Compose

from graphdep import to_data
from graphdep.transforms import (
    PHRASE_PRESETS,
    PRESETS,
    DependencyEdges,
    EdgeConstructor,
    EdgeSet,
    Nodes,
    RandomTree,
    SelfLoops,
    edge_names,
    preset_options,
    register_edges,
    resolve,
)
from graphdep.transforms.fingerprint import identity
from graphdep.transforms.presets import UnknownEdgesError, check_known, is_known, name_of
from tests.kit.edges import Ahead

pytestmark = pytest.mark.usefixtures("no_own_edges")


def test_a_registered_name_is_one_like_the_papers(example):
    before = dict(PRESETS)
    register_edges("ahead", Ahead)
    data = to_data([example])
    assert resolve("ahead", step=3, implicit=True)(data).edge_index.tolist() == [
        [*range(7)],
        [*range(3, 10)],
    ]
    assert preset_options("ahead") == ("step",)
    assert edge_names() == (*before, *PHRASE_PRESETS, "ahead")
    assert before == PRESETS
    with pytest.raises(ValueError, match="preset 'ahead' has no option 'scope'; it takes step"):
        resolve("ahead", scope="example")


def test_a_transform_and_a_function_with_any_options():
    register_edges("both", DependencyEdges("both") | SelfLoops())
    assert preset_options("both") == ()
    assert resolve("both") is resolve("both", implicit=True)
    with pytest.raises(ValueError, match="'both' has no option 'step'; it takes none"):
        resolve("both", step=2)

    def make(*parts, step=1, **others):
        return Ahead(step)

    register_edges("my_edges:make", make)
    assert preset_options("my_edges:make") == ("step",)
    assert resolve("my_edges:make", step=2).step == 2


def test_a_bad_name():
    for name in ["", "a b", "a,b", "a/b", "a:", ":b", "a:b:c", "none", "Null", "a=b", 3, "a]"]:
        with pytest.raises(ValueError, match="'name'"):
            register_edges(name, Ahead)


def test_a_known_name():
    register_edges("ahead", Ahead)
    with pytest.raises(ValueError, match="'name' 'dra' is taken by the papers' presets"):
        register_edges("dra", Ahead, replace=True)
    register_edges("ahead", Ahead)  # the same
    with pytest.raises(ValueError, match="taken by tests.kit.edges:Ahead: choose .* for test.*<lambda>"):
        register_edges("ahead", lambda: Ahead(2))
    assert resolve("ahead").step == 1
    register_edges("ahead", lambda: Ahead(2), replace=True)  # a cell of a notebook that is run again
    assert resolve("ahead").step == 2


class Silent(EdgeConstructor):
    def __init__(self, step: int = 1) -> None:
        self.other = step

    def build(self, nodes: Nodes) -> EdgeSet: ...


@pytest.mark.parametrize(
    ("factory", "error", "message"),
    [
        (3, TypeError, r"'factory' must make a transform, or be one \(got 3"),
        (lambda: 3, TypeError, r"'factory' must make a transform \(it makes an object of class 'int'\)"),
        (dict, ValueError, "'factory' must need no argument .*no signature"),
        (lambda step: Ahead(step), ValueError, "'factory' must need no argument .*'step'"),
        (EdgeConstructor, TypeError, "abstract"),
        (Silent, ValueError, "Silent does not print .*'step'.*keep each argument of its __init__"),
    ],
)
def test_a_factory_of_no_transform(factory, error, message):
    with pytest.raises(error, match=message):
        register_edges("mine", factory)
    assert "mine" not in edge_names()


def test_an_unknown_name_lists_all():
    register_edges("ahead", Ahead)
    with pytest.raises(
        ValueError, match="'edges' must be one of transformer, .*ahead.*got 'cats'.*register_edges"
    ):
        resolve("cats")
    with pytest.raises(ValueError, match=r"no edges 'AHED' \(did you mean 'ahead'\?\)$"):
        resolve("AHED")
    with pytest.raises(ValueError, match="no edges 'ahed'"):
        preset_options("ahed")


CODE = "from graphdep.transforms import SelfLoops\ndef loops(*, pieces='all'):\n    return SelfLoops()\n"


def test_an_entry_point_is_loaded_when_it_is_asked_for(install_edges):
    install_edges("pkg_loops", CODE, loops="pkg_loops:loops")
    assert edge_names()[-1] == "loops"
    taken = r"is taken by entry point 'loops' .*'pkg_loops': choose another name for tests.kit.edges:Ahead$"
    with pytest.raises(ValueError, match=taken):
        register_edges("loops", Ahead)
    with pytest.raises(ValueError, match="no edges 'loop' .did you mean 'loops'"):
        resolve("loop")
    assert not is_known("loops")
    assert "pkg_loops" not in sys.modules
    assert repr(resolve("loops", pieces="first")) == repr(SelfLoops())
    assert is_known("loops")
    assert edge_names().count("loops") == 1


@pytest.mark.parametrize("given", ["loops", "LOOPS"])
@pytest.mark.parametrize("first", ["import", "resolve"])
def test_an_entry_point_whose_module_registers_the_same(install_edges, given, first):
    more = "LOOPS = SelfLoops()\nfrom graphdep.transforms import register_edges\n"
    install_edges("pkg_loops", f"{CODE}{more}register_edges('loops', {given})\n", loops=f"pkg_loops:{given}")
    _ = importlib.import_module("pkg_loops") if first == "import" else resolve("loops")
    assert is_known("loops")
    assert repr(resolve("loops")) == repr(SelfLoops())
    own = importlib.import_module("pkg_loops")
    register_edges("loops", getattr(own, given))
    with pytest.raises(ValueError, match=r"'loops' is taken by (pkg_loops:loops|SelfLoops.*): choose"):
        register_edges("loops", Ahead)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("", "AttributeError"),
        ("loops = 3", "TypeError: 'factory' must make a transform"),
        ("raise SystemError('no')", "SystemError: no"),
    ],
)
def test_a_broken_entry_point_is_named(install_edges, code, why):
    install_edges("pkg_broken", code, broken="pkg_broken:loops")
    named = r"entry point 'broken' \('graphdep.edges', pkg_broken:loops\) of the package 'pkg_broken'"
    with pytest.raises(ValueError, match=f"{named} cannot be used: {why}"):
        resolve("broken")
    resolve("dra")  # the others are as they were


def test_two_entry_points_of_one_name_and_one_of_a_preset_s(install_edges):
    install_edges("pkg_one", CODE, loops="pkg_one:loops", dra="pkg_one:loops")
    install_edges("pkg_two", CODE, loops="pkg_two:loops")
    with pytest.raises(ValueError, match="'pkg_.*' and entry point 'loops' .*have the same name"):
        resolve("loops")
    assert repr(resolve("dra")) == repr(PRESETS["dra"]())


def test_a_file_s_names_are_known_or_not_and_never_loaded(install_edges):
    install_edges("pkg_loops", CODE, loops="pkg_loops:loops")
    register_edges("ahead", Ahead)
    for name in ("dra", "ahead"):
        check_known(name)
    for name, advice in (
        ("loops", "'loops' .* of the package 'pkg_loops' yourself: --edges loops"),
        ("mine", "import the module that registers them"),
        (
            "pkg_loops:loops",
            "if you trust 'pkg_loops', .* yourself: --edges pkg_loops:loops",
        ),
        (identity(Ahead(3)), "give the same transform again"),
    ):
        with pytest.raises(UnknownEdgesError, match=f"are not known here: .*{advice}"):
            check_known(name)
    assert "pkg_loops" not in sys.modules


def test_a_transform_has_a_name_by_which_it_is_found():
    edges = Ahead(3)
    name = name_of(edges)
    assert name == identity(edges)
    assert resolve(name, implicit=True) is edges
    assert name not in edge_names()  # which people choose from
    assert name_of("dra") == "dra"
    with pytest.raises(TypeError, match=r"'edges' must be a name or a transform \(got int\)"):
        name_of(3)


def test_instances_pass_through():
    edges = SelfLoops()
    assert resolve(edges) is edges
    assert isinstance(resolve(Compose([RandomTree(), edges])), Compose)


def test_a_factory_that_ends_the_program_is_refused():
    def leave():
        raise SystemExit(0)

    with pytest.raises(ValueError, match="'factory' ends the program"):
        register_edges("leaving", leave)
