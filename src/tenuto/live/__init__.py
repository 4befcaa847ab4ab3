"""The live loop: observe, decide by the same round as the simulator, commit, execute."""
