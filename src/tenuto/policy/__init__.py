"""Who gets how many slots. Every policy is a pure function from a snapshot to a decision."""
