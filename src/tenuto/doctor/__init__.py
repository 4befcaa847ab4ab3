"""What a machine has and lacks: checks that look and change nothing, for `tenuto doctor` here and on nodes."""
