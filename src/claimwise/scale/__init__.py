"""Inputs too large for one process: split by document into parts, scored by any engine, one file a part."""
