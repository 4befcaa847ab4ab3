"""The page of one job. What it tells is worked out in modules without NiceGUI; those named `…_panel` draw it."""
