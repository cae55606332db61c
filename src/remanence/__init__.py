"""Remanence: class-incremental learning in which the effect of the old data stays."""
