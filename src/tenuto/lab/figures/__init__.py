"""The pictures of the ElasticFlow paper, drawn from result files: which runs each needs, its numbers, its looks."""
