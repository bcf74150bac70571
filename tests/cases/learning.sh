# The cases of learning: see LIST.md there.
skip_part learning 'no check yet'
