#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A robot and a base station, two buses on one host here, joined by a bridge with keys.
set -eu
slipring bridge keys keys server >/dev/null
slipring bridge keys keys/clients base >/dev/null
mkfifo address
slipring --bus robot bridge serve --address tcp://127.0.0.1:0 --key keys/server.secret --clients keys/clients >address &
server=$!
read -r address <address
python robot.py
address="$address?key=keys/clients/base.secret&server_key=keys/server.key"
python base.py "$address"
slipring --bus "$address" sub imu --start oldest --count 1
slipring --bus base bridge mirror --from "$address" --to base 'imu:robot.imu' --seconds 2 --format json |
    python -c 'import json, sys; t = json.loads(list(sys.stdin)[-1])["topics"][0]; print("mirrored", t["mirrored"], "lost", t["lost"], "lag", t["lag"])' 2>/dev/null
slipring --bus base sub robot.imu --start oldest --count 3
slipring --bus robot rm imu commands --yes
slipring --bus base rm robot.imu --yes
kill "$server"
wait "$server" || true
slipring --bus base bridge tidy
rm -r keys address
