"""Factored Verification: citations in summaries of several sources, critique and revision."""
