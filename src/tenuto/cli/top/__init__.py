"""`tenuto top`: the cluster live in a terminal. What is shown and how are pure; keys, drawing and asking are not."""
