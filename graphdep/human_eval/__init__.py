"""Human evaluation of responses: blinded sheets for raters, and the table and agreement of what they say."""

from graphdep.human_eval.page import rating_page
from graphdep.human_eval.score import HumanScores, SystemScore, score_sheets
from graphdep.human_eval.sheet import Item, draw_items, write_sheets

__all__ = [
    "HumanScores",
    "Item",
    "SystemScore",
    "draw_items",
    "rating_page",
    "score_sheets",
    "write_sheets",
]
