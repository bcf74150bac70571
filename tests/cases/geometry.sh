# The cases of geometry: see LIST.md there.
skip_part geometry 'no check yet'
