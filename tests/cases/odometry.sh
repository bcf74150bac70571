# The cases of odometry: see LIST.md there.
skip_part odometry 'no check yet'
