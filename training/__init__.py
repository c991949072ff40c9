"""Training of the embedded model on public corpora. The model itself does not import this package."""
