"""Trackers behind the log: each reads it from its own cursor and can neither slow down nor end training."""
