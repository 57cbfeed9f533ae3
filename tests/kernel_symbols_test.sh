#!/usr/bin/env bash
# kernel_symbols_test.sh NM WIDE_OBJECT... -- OTHER_OBJECT...
# Of equal weak symbols the linker keeps any one. If it kept one compiled for AVX2 or AVX-512, code
# that never asked for that would crash on an older processor. So the objects compiled for a wide
# instruction set may define no weak symbol that another object of the project, or of a user,
# defines too.
set -euo pipefail

nm=$1
shift
wide=()
while [[ $# -gt 0 && $1 != -- ]]; do wide+=("$1"); shift; done
shift
[[ ${#wide[@]} -gt 0 && $# -gt 0 ]] || { echo "no objects to compare"; exit 1; }

# DW.ref.* are pointers, not code.
weak() { "$nm" --defined-only "$@" | awk '$2 ~ /^[WVu]$/ && $3 !~ /^DW\.ref\./ {print $3}' | sort -u; }
defined() { "$nm" --defined-only "$@" | awk 'NF == 3 && $2 ~ /^[A-Zu]$/ {print $3}' | sort -u; }

# Names in std, __gnu_cxx or fmt, with the marks of members, guards, tables and type information.
foreign='^_Z(GV|TV|TI|TS|TT)?N?[VKRO]*(St|S[absiod]|9__gnu_cxx|3fmt)'

shared=$(comm -12 <(weak "${wide[@]}") <(defined "$@"))
inlines=$(weak "${wide[@]}" | grep -E "$foreign" || true)
if [[ -n $shared$inlines ]]; then
  echo "These symbols of the wide kernels could replace baseline ones:"
  printf '%s\n' "$shared" "$inlines" | sort -u | c++filt
  exit 1
fi
echo "$(weak "${wide[@]}" | wc -l) weak symbols in ${#wide[@]} wide objects, none of them shared"
