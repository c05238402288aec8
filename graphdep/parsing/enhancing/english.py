"""English words that enhanced++ graphs know.

They are those that pybart lists after the converter of "Enhanced English Universal Dependencies: An
Improved Representation for Natural Language Understanding Tasks" by Schuster and Manning, so that labels are
comparable with those of other graphs.
"""

from __future__ import annotations


def _pairs(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split("_")) for phrase in text.split())


TWO_WORDS = _pairs("""
    across_from along_with alongside_of apart_from as_for as_from as_of as_per as_to aside_from based_on
    close_by close_to compared_to compared_with contrary_to depending_on except_for exclusive_of far_from
    followed_by inside_of irrespective_of near_to next_to off_of out_of outside_of owing_to preliminary_to
    preparatory_to previous_to prior_to pursuant_to regardless_of subsequent_to thanks_to together_with
""")
"""Prepositions of two words, both of which depend on the noun: "out of our barn"."""

TWO_WORDS_WITH_HEAD = _pairs("""
    apart_from as_from aside_from away_from close_by close_to contrary_to far_from near_to next_to out_of
    outside_of pursuant_to regardless_of together_with
""")
"""Those whose first word may govern the noun: "close to home"."""

THREE_WORDS = _pairs("""
    by_means_of in_accordance_with in_addition_to in_case_of in_front_of in_lieu_of in_place_of in_spite_of
    on_account_of on_behalf_of on_top_of with_regard_to with_respect_to
""")
"""Prepositions of three words, whose second one governs the noun: "in front of us"."""

LIGHT_NOUNS = frozenset(
    """
    array assortment bit bunch clutch couple dozen form handful heap kind litany lot mountain multitude number
    pair plethora range series sheaf slew sort spate string ton total triple type variety version wad wave
""".split()
)
"""Nouns behind "a" or "an" that say how many or what kind of what follows "of": "a bunch of friends"."""

QUANTITIES = frozenset(
    """
    billions dozens hundreds loads lots many millions mountains multitudes pairs plenty several tens thousands
    tons trillions
""".split()
)
"""Words that do so without an article: "lots of snow"."""

PARTITIVES = frozenset(
    """
    all billion both eight everyone five four hundred million neither nine nobody one seven six some ten
    thousand three trillion two
""".split()
)
"""Words that do so before a determiner, too: "both of the twins"."""
