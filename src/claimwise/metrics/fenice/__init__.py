"""FENICE: claims aligned with the document by natural language inference, with coreference and several granularities."""
