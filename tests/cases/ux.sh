# The cases of ux: see LIST.md there.
skip_part ux 'no check yet'
