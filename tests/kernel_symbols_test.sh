#!/usr/bin/env bash
# kernel_symbols_test.sh NM AVX2_OBJECT... -- OTHER_OBJECT...
# Of equal weak symbols the linker keeps any one. If it kept one compiled for AVX2, code that never
# asked for AVX2 would crash on an older processor. So the AVX2 objects may define no weak symbol
# that another object of the project, or of a user, defines too.
set -euo pipefail

nm=$1
shift
avx2=()
while [[ $# -gt 0 && $1 != -- ]]; do avx2+=("$1"); shift; done
shift
[[ ${#avx2[@]} -gt 0 && $# -gt 0 ]] || { echo "no objects to compare"; exit 1; }

# DW.ref.* are pointers, not code.
weak() { "$nm" --defined-only "$@" | awk '$2 ~ /^[WVu]$/ && $3 !~ /^DW\.ref\./ {print $3}' | sort -u; }
defined() { "$nm" --defined-only "$@" | awk 'NF == 3 && $2 ~ /^[A-Zu]$/ {print $3}' | sort -u; }

# Names in std, __gnu_cxx or fmt, with the marks of members, guards, tables and type information.
foreign='^_Z(GV|TV|TI|TS|TT)?N?[VKRO]*(St|S[absiod]|9__gnu_cxx|3fmt)'

shared=$(comm -12 <(weak "${avx2[@]}") <(defined "$@"))
inlines=$(weak "${avx2[@]}" | grep -E "$foreign" || true)
if [[ -n $shared$inlines ]]; then
  echo "These symbols of the AVX2 kernels could replace baseline ones:"
  printf '%s\n' "$shared" "$inlines" | sort -u | c++filt
  exit 1
fi
echo "$(weak "${avx2[@]}" | wc -l) weak symbols in ${#avx2[@]} AVX2 objects, none of them shared"
