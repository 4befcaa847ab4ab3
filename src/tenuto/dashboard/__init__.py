"""The page: what runs where and why, whether the promises hold, and the buttons to act. NiceGUI on the server's app."""
