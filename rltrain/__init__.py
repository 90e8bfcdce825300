"""rltrain: reinforcement learning of language models from one manifest. The import name for users."""

from importlib.metadata import version

__version__ = version("rltrain")
