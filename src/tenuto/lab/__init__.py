"""The laboratory: many replays, each in a directory of its own, run in parallel and never twice."""
