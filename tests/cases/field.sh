# The cases of field: see LIST.md there.
skip_part field 'no check yet'
