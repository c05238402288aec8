"""Human evaluation of responses: blinded sheets for raters, and the table and agreement of what they say."""

from graphdep.human_eval.sheets import HumanScores, SystemScore, score_sheets, write_sheets

__all__ = ["HumanScores", "SystemScore", "score_sheets", "write_sheets"]
