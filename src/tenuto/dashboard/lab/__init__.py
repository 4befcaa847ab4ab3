"""The laboratory on the page: its runs, what can be asked for, and how results are shown."""
