"""What goes over the wire: names of environment variables, messages, schemas."""
