"""Claim-level faithfulness evaluation of summaries: ACUEval, Factored Verification and FENICE as one system."""

__version__ = "0.1.0"
