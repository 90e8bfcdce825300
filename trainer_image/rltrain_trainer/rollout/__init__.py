"""Rollout engines: how responses are sampled from a policy."""
