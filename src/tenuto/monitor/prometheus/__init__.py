"""The platform's numbers as Prometheus reads them: one table of all families, what is counted, what is measured."""
