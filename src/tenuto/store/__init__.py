"""What is remembered: jobs, nodes, events and the controller's memory, in one transactional place."""
