"""Claim-level faithfulness evaluation of summaries: ACUEval, Factored Verification and FENICE as one system."""

import warnings
from importlib import import_module

# Libraries that download (pooch, transformers) import tqdm's bars for notebooks, which warn in every notebook without
# ipywidgets. None of these bars is shown.
warnings.filterwarnings("ignore", message="IProgress not found")

__version__ = "0.1.0"


def __getattr__(name: str):
    """``claimwise.score``, imported where it is asked for: every module imports the package, few of them a model."""
    if name == "score":
        return import_module("claimwise.api").score
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
