"""Enhanced graphs from basic trees, by rules of this package."""

from graphdep.parsing.enhancing.rule_enhancer import RULES_VERSION, UD_LEVELS, RuleEnhancer

__all__ = ["RULES_VERSION", "UD_LEVELS", "RuleEnhancer"]
