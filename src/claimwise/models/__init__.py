"""Models behind one interface: embedded (offline, CPU), transformers checkpoints, OpenAI-compatible servers."""
