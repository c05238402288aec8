"""Trees and edges as lines and texts with places: what pictures and pages are drawn from."""

from graphdep.drawing.bracket import Bracket
from graphdep.drawing.lane import Lane
from graphdep.drawing.picture_of_row import row_scene, row_scenes
from graphdep.drawing.row import Row
from graphdep.drawing.scene import Scene
from graphdep.drawing.shape import Shape

__all__ = ["Bracket", "Lane", "Row", "Scene", "Shape", "row_scene", "row_scenes"]
