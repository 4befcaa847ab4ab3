"""Pure answers about the future of a snapshot: finishes, counter-offers, what a change would do."""
