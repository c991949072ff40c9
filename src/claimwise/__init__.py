"""Claim-level faithfulness evaluation of summaries: ACUEval, Factored Verification and FENICE as one system."""

import warnings
from importlib import import_module

# Libraries that download (pooch, transformers) import tqdm's bars for notebooks, which warn in every notebook without
# ipywidgets. None of these bars is shown.
warnings.filterwarnings("ignore", message="IProgress not found")

__version__ = "0.1.0"


__all__ = ["Metric", "check", "explain", "score", "verdict"]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str):
    """What ``api`` offers, imported where they are asked for: every module imports the package, few of them a model."""
    if name in __all__:
        return getattr(import_module("claimwise.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
