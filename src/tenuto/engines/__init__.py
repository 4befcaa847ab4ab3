"""What runs workers: the port, the pure launch, and the engines behind the port."""
