# The cases of robust: see LIST.md there.
skip_part robust 'no check yet'
