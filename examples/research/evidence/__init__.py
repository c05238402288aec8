"""Evidence: tables that are designed before they are run, the runs they still need, and what they decide."""

from graphdep.training.evidence.campaign import Campaign
from graphdep.training.evidence.claim import Claim
from graphdep.training.evidence.design import Design, read_designs
from graphdep.training.evidence.open_claim import OpenClaim, read_open_claims

__all__ = ["Campaign", "Claim", "Design", "OpenClaim", "read_designs", "read_open_claims"]
