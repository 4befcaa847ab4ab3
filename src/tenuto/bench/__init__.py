"""Measurements on a live platform: what rescales and moves cost, and scripted scenarios. Talks to the API only."""
