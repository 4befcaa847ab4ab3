"""A trace on the live platform: in virtual time, or faster than it was; and how far that is from the simulator."""
