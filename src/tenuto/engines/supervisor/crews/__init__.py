"""Who trains together now: the lead supervisor's part in a job that rescales in place.

`coordinator` decides, from values alone; `desk` does what it says for the jobs of a node; `peers` is how the
supervisors of a job's nodes talk to each other.
"""
