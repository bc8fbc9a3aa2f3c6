"""The noises: what every noise can do, and one file for each family."""
