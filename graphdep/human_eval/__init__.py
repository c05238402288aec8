"""Human evaluation of responses: blinded sheets for raters, scores, and agreement of raters."""

from graphdep.human_eval.sheets import HumanScores, SystemScore, score_sheets, write_sheets

__all__ = ["HumanScores", "SystemScore", "score_sheets", "write_sheets"]
