"""Prompts: where they come from, in which order they are used, how they become tokens."""
