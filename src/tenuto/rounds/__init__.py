"""One pure round: decide, place, check, diff. The simulator and the live controller both call it."""
