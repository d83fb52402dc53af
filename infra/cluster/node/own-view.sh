#!/bin/sh
# own-view.sh FOLDER PROCESSES COMMAND…: becomes COMMAND in a view of the file system that is the node's own. Started in a
# new mount namespace. The kubelet, containerd and its shims each write to places that cannot be configured
# (/run/containerd/s, /var/lib/kubelet/device-plugins, /var/lib/cni, /var/log/containers): here, two nodes do not meet in
# them, and nothing of it is left on the machine when the last process of the node has ended.
set -eu
folder=$1
processes=$2
shift 2

# Entered first, so that whatever it starts is the node's too.
echo $$ >"$processes"

mount -t tmpfs -o mode=755 tmpfs /run
for place in lib log; do
  mkdir -p "$folder/var-$place/upper" "$folder/var-$place/work"
  mount -t overlay -o "lowerdir=/var/$place,upperdir=$folder/var-$place/upper,workdir=$folder/var-$place/work" \
    overlay "/var/$place"
done
exec "$@"
