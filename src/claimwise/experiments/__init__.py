"""What several notebooks share or would be too long in one: a module an experiment, tables in, tables out."""
