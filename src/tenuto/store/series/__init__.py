"""Numbers over time: of nodes, GPUs, jobs, workers and the cluster, in chunks of a minute, thinned out as they age."""
