"""A typed client of the REST interface."""
