"""How the embedded model's weights are made from public corpora; nothing that uses the model imports this."""
