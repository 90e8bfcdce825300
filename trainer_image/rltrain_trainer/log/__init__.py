"""The log of a run: append-only, framed, checksummed. The trainer writes it; trackers and `rltrain runs` read it."""
