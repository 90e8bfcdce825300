"""Algorithms: pure functions on tensors that read no configuration, log nothing and know no Ray."""
