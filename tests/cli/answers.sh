#!/bin/sh
# What is printed: answers.list, by refusals.sh, which says what its lines are.
. "${0%/*}/refusals.sh"
