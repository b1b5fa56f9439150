# SPDX-License-Identifier: Apache-2.0
# Lines into a topic, out of it again, through an ordinary shell pipe.
set -eu
bus="slipring --bus shell"

$bus sub fruit --count 3 --timeout 30 2>/dev/null | tr a-z A-Z > out.txt &
printf 'apple\npear\nplum\n' | $bus pub fruit --sender cook --type crop --wait-for 1
wait
cat out.txt
rm out.txt

$bus sub fruit --start oldest --count 1 --format json | sed 's/"time_ns": [0-9]*/"time_ns": …/'
$bus rm fruit --yes
