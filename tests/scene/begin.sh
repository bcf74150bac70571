# Sourced by the scripts of this folder: DRIVE, the first argument, as an absolute path, the program, and a folder of their own.
set -eu
drive=$(cd "${1%/*}" && pwd)/${1##*/}
pcgpu=${PCGPU:?}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
