#!/bin/sh
# A node of the three in compose.yml: it comes into their mesh at its first start, then runs.
# MESH_TOKEN_FILE: a file with what `mesh token` printed where the keys are. MESH_SEEDS: addresses of others.
set -eu
state=${MESH_STATE_DIR:-/var/lib/mesh}
if [ ! -e "$state/keys/default.json" ]; then
    mesh join --file "$MESH_TOKEN_FILE"
fi
set -- up --id "$MESH_NAME" --bind "${MESH_BIND:-tcp://*:7710}"
for seed in ${MESH_SEEDS:-}; do
    set -- "$@" --peer "$seed"
done
exec mesh "$@"
