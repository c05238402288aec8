"""Evidence: tables that are designed before they are run, the runs they still need, and what they decide."""

from evidence.campaign import Campaign
from evidence.claim import Claim
from evidence.design import Design, read_designs
from evidence.open_claim import OpenClaim, read_open_claims

__all__ = ["Campaign", "Claim", "Design", "OpenClaim", "read_designs", "read_open_claims"]
