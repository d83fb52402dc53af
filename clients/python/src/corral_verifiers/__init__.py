"""Corral as a plug-in of verifiers: `--env.id corral_verifiers`. Their ids hold no dot: so this name too."""

from corral.verifiers import CorralEnv, CorralHarness

__all__ = ["CorralEnv", "CorralHarness"]
