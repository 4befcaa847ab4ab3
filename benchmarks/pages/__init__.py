"""What pages weigh and cost."""
